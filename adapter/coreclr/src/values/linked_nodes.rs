//! Collections whose items are linked nodes: `LinkedList`, `Lookup` and `ConcurrentDictionary`. Skipped nodes
//! are followed in the program's memory; only those of the requested page become values.

use cordebug::value::Value as ClrValue;

use super::dictionary_keys::DictionaryKeys;
use crate::bare_value::bare;
use crate::debuggee::ClrDebuggee;
use crate::stop_context::StopContext;
use crate::types::ClrTypeSystem;
use crate::value_path::{Path, PathSegment};
use tokio_util::sync::CancellationToken;

pub(super) const CONCURRENT: &str = "System.Collections.Concurrent.ConcurrentDictionary`2";
/// Longest chain of nodes that is followed.
const MAX_CHAIN_LEN: u32 = 2_000_000;
/// Most steps of a path before it restarts at a handle: each step is walked whenever the value is read.
const MAX_WAY_LEN: usize = 32;
/// Nodes between two checks whether a client still waits for a long walk.
const CANCEL_CHECK_NODES: u32 = 1 << 12;
/// Most locks of a dictionary, each of which counts its items.
const MAX_LOCKS: u32 = 1 << 16;
/// Size of a reference, bytes.
const REFERENCE: u64 = 8;

/// A chain of linked nodes: its length, and the fields to follow.
pub(super) struct LinkedNodes {
    /// Fields on the path to the first node.
    pub(super) first: &'static [&'static str],
    pub(super) next: &'static str,
    pub(super) length: u32,
    /// Field of a node with its key, if items have keys.
    pub(super) key: Option<&'static str>,
    /// Field of a node with the item; `None` if the node itself is the item.
    pub(super) value: Option<&'static str>,
}

/// Layout of nodes in a bucket of a dictionary.
#[derive(Clone, Copy)]
struct NodeLayout {
    /// The field of a bucket with its first node; `None` if the bucket is the node.
    wrapped: Option<PathSegment>,
    next: PathSegment,
    /// Offset of the reference to the next node, bytes.
    offset: u64,
}

impl StopContext<'_> {
    /// Paths to a page of the nodes of a chain, with their positions.
    pub(super) fn linked_nodes(
        &self,
        cancel: &CancellationToken,
        list: &ClrValue,
        path: &Path,
        chain: &LinkedNodes,
        (start, count): (usize, usize),
    ) -> Option<Vec<(u32, Path)>> {
        let (mut node, mut value, length) = (path.clone(), list.clone(), chain.length);
        for field in chain.first {
            node = node.step(self.types.member(&value, field)?, String::new());
            let Some(inner) = bare(&self.fetch(&node).ok()?) else { return Some(Vec::new()) };
            value = inner;
        }
        let next = self.types.member(&value, chain.next)?;
        let (start, mut found) = (u32::try_from(start).unwrap_or(u32::MAX), Vec::new());
        if start >= length.min(MAX_CHAIN_LEN) {
            return Some(found);
        }
        if start > 0 {
            let address = self.types.node_after(self.debuggee, cancel, &value, next, start)?;
            value = self.debuggee.process().ok()?.object_at(address).ok()?;
            node = self.values.hold_object(&value, "a node")?;
        }
        for at in start..length.min(MAX_CHAIN_LEN) {
            if found.len() >= count || cancel.is_cancelled() {
                break;
            }
            if node.steps.len() > MAX_WAY_LEN {
                node = self.values.hold_object(&value, "a node")?;
            }
            found.push((at, node.clone()));
            node = node.step(next, String::new());
            let Some(after) = bare(&self.types.field_at(&value, next)?) else { break };
            value = after;
        }
        Some(found)
    }

    /// A page of the items of a ConcurrentDictionary, whose buckets are chains.
    pub(super) fn concurrent_items(
        &self,
        cancel: &CancellationToken,
        value: &ClrValue,
        path: &Path,
        start: usize,
        count: usize,
    ) -> Option<Vec<(String, Path)>> {
        let tables_step = self.types.member(value, "_tables")?;
        let tables = bare(&self.types.field_at(value, tables_step)?)?;
        let buckets_step = self.types.member(&tables, "_buckets")?;
        let buckets = bare(&self.types.field_at(&tables, buckets_step)?)?;
        let array = buckets.as_array()?;
        let heads =
            self.debuggee.references_at(array.element(0).ok()?.address().ok()?, array.count().ok()?)?;
        let all = path.step(tables_step, String::new()).step(buckets_step, String::new());
        let keys = DictionaryKeys::of(self.types, value);
        let (mut passed, mut found) = (0, Vec::new());
        let mut shape: Option<NodeLayout> = None;
        for (bucket, head) in (0u32..).zip(heads).filter(|(_, head)| *head != 0) {
            if found.len() >= count || cancel.is_cancelled() {
                break;
            }
            let shape = match shape {
                Some(shape) => shape,
                None => *shape.insert(self.types.shape_of(&array.element(bucket).ok()?)?),
            };
            let length = self.debuggee.chain_from(cancel, head, shape.offset)?;
            if passed + length <= start {
                passed += length;
                continue;
            }
            let mut node = all.step(PathSegment::Element(bucket), String::new());
            if let Some(step) = shape.wrapped {
                node = node.step(step, String::new());
            }
            for _ in 0..length {
                if found.len() >= count {
                    break;
                }
                if node.steps.len() > MAX_WAY_LEN {
                    node = self.values.hold_object(&self.fetch(&node).ok()?, "a node")?;
                }
                if passed >= start {
                    let value = bare(&self.fetch(&node).ok()?)?;
                    let by_position = format!("{}.ElementAt({passed}).Value", path.name);
                    found.extend(self.types.keyed(self.debuggee, path, &node, &value, (&keys, by_position)));
                }
                passed += 1;
                node = node.step(shape.next, String::new());
            }
        }
        Some(found)
    }
}

impl ClrDebuggee {
    /// The number of nodes in a chain.
    fn chain_from(&self, cancel: &CancellationToken, head: u64, offset: u64) -> Option<usize> {
        let process = self.process().ok()?;
        let (mut at, mut length) = (head, 0);
        while at != 0 && length < MAX_CHAIN_LEN as usize && !cancel.is_cancelled() {
            at = reference(&process.read_memory(at + offset, REFERENCE as u32).ok()?)?;
            length += 1;
        }
        Some(length)
    }

    /// The references at this address.
    fn references_at(&self, first: u64, count: u32) -> Option<Vec<u64>> {
        let process = self.process().ok()?;
        let bytes = process.read_memory(first, count.checked_mul(REFERENCE as u32)?).ok()?;
        Some(bytes.chunks_exact(REFERENCE as usize).filter_map(reference).collect())
    }
}

impl ClrTypeSystem {
    /// The address of the node that is `count` after this one.
    fn node_after(
        &self,
        debuggee: &ClrDebuggee,
        cancel: &CancellationToken,
        node: &ClrValue,
        next: PathSegment,
        count: u32,
    ) -> Option<u64> {
        let process = debuggee.process().ok()?;
        let mut at = node.address().ok()?;
        let offset = self.field_at(node, next)?.address().ok()?.checked_sub(at)?;
        for passed in 0..count {
            if passed % CANCEL_CHECK_NODES == 0 && cancel.is_cancelled() {
                return None;
            }
            at = reference(&process.read_memory(at + offset, REFERENCE as u32).ok()?)?;
        }
        (at != 0).then_some(at)
    }

    /// The number of items in a ConcurrentDictionary: the sum of those that each of its locks counts.
    pub(super) fn concurrent_count(&self, debuggee: &ClrDebuggee, value: &ClrValue) -> Option<u32> {
        let tables = bare(&self.field_named(value, "_tables")?)?;
        let counts = bare(&self.field_named(&tables, "_countPerLock")?)?;
        let counts = counts.as_array()?;
        let first = counts.element(0).ok()?.address().ok()?;
        let bytes = counts.count().ok()?.min(MAX_LOCKS) * 4;
        let bytes = debuggee.process().ok()?.read_memory(first, bytes).ok()?;
        let count = |four: &[u8]| four.try_into().map_or(0, u32::from_le_bytes);
        Some(bytes.chunks_exact(4).map(count).fold(0, u32::saturating_add))
    }

    fn keyed(
        &self,
        debuggee: &ClrDebuggee,
        path: &Path,
        way: &Path,
        node: &ClrValue,
        (keys, by_position): (&DictionaryKeys, String),
    ) -> Option<(String, Path)> {
        let key = self.field_named(node, "_key")?;
        let (name, expression) = self.key_path(debuggee, path, keys, &key, by_position);
        Some((name, way.step(self.member(node, "_value")?, expression)))
    }

    /// The layout of nodes in a bucket.
    fn shape_of(&self, bucket: &ClrValue) -> Option<NodeLayout> {
        let mut node = bare(bucket)?;
        let mut wrapped = None;
        // In .NET 8 and later a bucket is a struct around its first node.
        if self.declared_ty(&node).is_value() {
            let step = self.member(&node, "_node")?;
            node = bare(&self.field_at(&node, step)?)?;
            wrapped = Some(step);
        }
        let next = self.member(&node, "_next")?;
        let offset = self.field_at(&node, next)?.address().ok()?.checked_sub(node.address().ok()?)?;
        Some(NodeLayout { wrapped, next, offset })
    }
}

fn reference(bytes: &[u8]) -> Option<u64> {
    bytes.get(..REFERENCE as usize)?.try_into().ok().map(u64::from_le_bytes)
}
