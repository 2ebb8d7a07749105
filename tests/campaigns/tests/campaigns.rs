//! The short run of each campaign, from a seed that changes each time and is printed, and the long one, which
//! takes up to an hour and is ignored but for `check --long`. `tests/campaigns/src/lib.rs` describes them.

use anyhow::Context;
use tandem_campaigns::{CAMPAIGNS, Campaign, Options};

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

/// The two runs of each.
macro_rules! campaigns {
    ($($short:ident, $long:ident: $name:literal;)*) => {
        $(
            #[tokio::test]
            async fn $short() -> anyhow::Result<()> {
                short($name).await
            }

            #[tokio::test]
            #[ignore = "takes up to an hour: check --long"]
            async fn $long() -> anyhow::Result<()> {
                long($name).await
            }
        )*
    };
}

campaigns! {
    frames_to_the_adapter, long_frames_to_the_adapter: "messages";
    lines_to_the_bridge, long_lines_to_the_bridge: "mcp";
    clients_in_a_random_state_machine, long_clients_in_a_random_state_machine: "clients";
    hostile_adapters, long_hostile_adapters: "adapters";
    parts_that_are_killed, long_parts_that_are_killed: "kills";
    sessions_in_a_row, long_sessions_in_a_row: "soak";
}
