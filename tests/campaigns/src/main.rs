//! Runs a campaign by hand: `campaign NAME [--count N] [--seed S]`; without a name it lists them.
//! `tests/campaigns/src/lib.rs` describes each.

use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context, bail};
use tandem_campaigns::{CAMPAIGNS, Options};

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    match run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("campaign: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn run() -> anyhow::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let Some(name) = arguments.next() else {
        for campaign in &CAMPAIGNS {
            eprintln!("{:10} {} [long: --count {}]", campaign.name, campaign.about, campaign.long);
        }
        return Ok(());
    };
    let campaign = CAMPAIGNS.iter().find(|campaign| campaign.name == name);
    let campaign = campaign.with_context(|| format!("there is no campaign `{name}`"))?;
    let mut options = Options { count: campaign.long, seed: fastrand::u64(..) };
    while let Some(flag) = arguments.next() {
        let value = arguments.next().with_context(|| format!("`{flag}` needs a value"))?;
        let value = value.parse().with_context(|| format!("`{flag} {value}` is not a number"))?;
        match flag.as_str() {
            "--count" => options.count = value,
            "--seed" => options.seed = value,
            _ => bail!("`{flag}` is none of --count and --seed"),
        }
    }
    eprintln!("{name}: --count {} --seed {}", options.count, options.seed);
    let start = Instant::now();
    let done = (campaign.run)(options).await;
    let done = done.with_context(|| format!("`{name} --count {} --seed {}`", options.count, options.seed))?;
    eprintln!("{name}: {done}; {:.1} s", start.elapsed().as_secs_f64());
    Ok(())
}
