//! The short run of each campaign, from a seed that changes each time and is printed. The long ones are run by hand: `tests/src/campaign.rs`.

use anyhow::Context;
use tests::campaign::{CAMPAIGNS, Options};

async fn short(name: &str) -> anyhow::Result<()> {
    let campaign = CAMPAIGNS.iter().find(|campaign| campaign.name == name).context("no such campaign")?;
    let options = Options { count: campaign.short, seed: fastrand::u64(..) };
    eprintln!("campaign {name} --count {} --seed {}", options.count, options.seed);
    eprintln!("{}", (campaign.run)(options).await.with_context(|| format!("seed {}", options.seed))?);
    Ok(())
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
