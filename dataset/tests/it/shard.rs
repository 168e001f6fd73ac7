//! Shards against their index.

use lockstep_dataset::{Index, Shard};

use crate::support::Draft;

type Result<T = (), E = Box<dyn std::error::Error>> = std::result::Result<T, E>;

#[test]
fn samples_are_typed_views() -> Result {
    let dir = Draft::new().write();
    let index = Index::read(dir.path())?;
    let shard = Shard::open(dir.path(), &index.shards()[0])?;
    assert_eq!((shard.len(), shard.is_empty()), (3, false));
    let sample = shard.sample(2)?;
    assert_eq!((sample.get::<i64>("n")?, sample.get::<&str>("t")?), (3, "drei"));
    assert_eq!(sample.column_bytes("t")?, b"drei");
    assert_eq!(sample.bytes().len(), 4 + 8 + 4);
    assert!(sample.get::<u8>("t").unwrap_err().is_config());
    assert!(sample.column("x").unwrap_err().to_string().ends_with("there is no column `x`, only `n`, `t`"));
    assert!(shard.sample(3).unwrap_err().to_string().ends_with("there is no sample 3 among 3"));
    assert!(shard.sample(u64::MAX).is_err());
    Ok(())
}

#[test]
fn a_shard_outlives_its_file() -> Result {
    let dir = Draft::new().write();
    let index = Index::read(dir.path())?;
    let shard = Shard::open(dir.path(), &index.shards()[0])?;
    drop(dir);
    assert_eq!(shard.sample(0)?.get::<&str>("t")?, "one");
    Ok(())
}
