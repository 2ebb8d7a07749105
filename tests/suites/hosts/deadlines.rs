//! The factor `TANDEM_TEST_SLOWNESS`, which multiplies every deadline of the tests.

use std::time::Duration;

use tandem_harness::deadline::{deadline, deadline_ms, parse, scaled};

#[test]
fn slowness_is_a_number_from_1() {
    assert_eq!((parse(""), parse("1"), parse("2.5")), (Ok(1.0), Ok(1.0), Ok(2.5)));
    for value in ["0.5", "-1", "101", "NaN", "inf", "slow"] {
        let expected = format!("TANDEM_TEST_SLOWNESS: `{value}` is not a number from 1 to 100");
        assert_eq!(parse(value), Err(expected));
    }
}

#[test]
fn deadlines_have_one_factor() {
    let second = deadline(1);
    assert!(second >= Duration::from_secs(1));
    assert_eq!((scaled(Duration::from_millis(500)), deadline(60)), (second / 2, second * 60));
    assert_eq!(u128::from(deadline_ms(20)), deadline(20).as_millis());
}
