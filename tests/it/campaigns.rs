//! The short run of each campaign, from a seed that changes each time and is printed, and the long one, which takes up to an hour and
//! is ignored but for `check --long`. What they are: `tests/src/campaign.rs`.

use anyhow::Context;
use tests::campaign::{CAMPAIGNS, Campaign, Options};

fn campaign(name: &str) -> anyhow::Result<&'static Campaign> {
    CAMPAIGNS.iter().find(|campaign| campaign.name == name).context("no such campaign")
}

async fn run(campaign: &Campaign, count: u64) -> anyhow::Result<()> {
    let options = Options { count, seed: fastrand::u64(..) };
    eprintln!("campaign {} --count {count} --seed {}", campaign.name, options.seed);
    eprintln!("{}", (campaign.run)(options).await.with_context(|| format!("seed {}", options.seed))?);
    Ok(())
}

async fn short(name: &str) -> anyhow::Result<()> {
    let campaign = campaign(name)?;
    run(campaign, campaign.short).await
}

async fn long(name: &str) -> anyhow::Result<()> {
    let campaign = campaign(name)?;
    run(campaign, campaign.long).await
}

#[tokio::test]
async fn frames_to_the_adapter() -> anyhow::Result<()> {
    short("messages").await
}

#[tokio::test]
async fn lines_to_the_bridge() -> anyhow::Result<()> {
    short("mcp").await
}

#[tokio::test]
async fn clients_in_a_random_state_machine() -> anyhow::Result<()> {
    short("clients").await
}

#[tokio::test]
async fn hostile_adapters() -> anyhow::Result<()> {
    short("adapters").await
}

#[tokio::test]
async fn parts_that_are_killed() -> anyhow::Result<()> {
    short("kills").await
}

#[tokio::test]
async fn sessions_in_a_row() -> anyhow::Result<()> {
    short("soak").await
}

#[tokio::test]
#[ignore = "takes up to an hour: check --long"]
async fn long_frames_to_the_adapter() -> anyhow::Result<()> {
    long("messages").await
}

#[tokio::test]
#[ignore = "takes up to an hour: check --long"]
async fn long_lines_to_the_bridge() -> anyhow::Result<()> {
    long("mcp").await
}

#[tokio::test]
#[ignore = "takes up to an hour: check --long"]
async fn long_clients_in_a_random_state_machine() -> anyhow::Result<()> {
    long("clients").await
}

#[tokio::test]
#[ignore = "takes up to an hour: check --long"]
async fn long_hostile_adapters() -> anyhow::Result<()> {
    long("adapters").await
}

#[tokio::test]
#[ignore = "takes up to an hour: check --long"]
async fn long_parts_that_are_killed() -> anyhow::Result<()> {
    long("kills").await
}

#[tokio::test]
#[ignore = "takes up to an hour: check --long"]
async fn long_sessions_in_a_row() -> anyhow::Result<()> {
    long("soak").await
}
