//! `lockstep plan`: epochs as arithmetic.

use serde_json::{Value, json};

use crate::support::{Ended, Result, finish, lockstep};

/// Plans a configuration.
fn plan(config: &Value, more: &[&str]) -> Result<Ended> {
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("plan.json");
    std::fs::write(&path, config.to_string())?;
    finish(lockstep().arg("plan").arg("--config").arg(&path).args(more))
}

fn report(config: &Value, more: &[&str]) -> Result<Value> {
    let ended = plan(config, &[&["--json"], more].concat())?;
    assert_eq!(ended.code(), Some(0), "{config}: {}", ended.err);
    Ok(serde_json::from_str(&ended.out)?)
}

/// Many equal shards over this world, in groups of `replication`.
fn job(nodes: u64, ranks_per_node: u64, replication: u64, placement: &str) -> Value {
    json!({
        "streams": [{"shards": 8 * nodes, "samples_per_shard": 512}],
        "world": {"num_nodes": nodes, "ranks_per_node": ranks_per_node},
        "batch_size": 2,
        "replication": replication,
        "placement": placement,
        "shuffle_block_size": 2048,
    })
}

#[test]
fn node_local_placement_downloads_once_and_mosaic_once_a_node() -> Result {
    for nodes in [4, 8, 37] {
        let local = report(&job(nodes, 8, 8, "node-local"), &[])?;
        assert_eq!(local["egress"], 1.0, "{nodes} nodes");
        assert_eq!(local["egress_per_node"], json!(vec![8; usize::try_from(nodes)?]));
        // With the original's own default of canonical nodes, which it took for its one logical node.
        for shuffle in [Value::Null, "py1e".into(), "py1br".into()] {
            let mut mosaic = job(nodes, 8, 8, "mosaic");
            mosaic["shuffle"] = shuffle.clone();
            let mosaic = report(&mosaic, &[])?;
            #[expect(clippy::cast_precision_loss, reason = "a small number")]
            let expected = nodes as f64;
            assert_eq!(mosaic["egress"], expected, "{nodes} nodes, {shuffle}");
            assert_eq!(mosaic["egress_per_node"], json!(vec![8 * nodes; usize::try_from(nodes)?]));
        }
    }
    Ok(())
}

#[test]
fn egress_counts_what_the_ranks_of_a_machine_read_and_no_more() -> Result {
    // One logical node of four sample ranks, each on a machine of its own; with four canonical nodes each of them reads
    // one, and no shard is read twice.
    let mut config = job(4, 8, 8, "mosaic");
    config["num_canonical_nodes"] = 4.into();
    assert_eq!(report(&config, &[])?["egress"], 1.0);
    Ok(())
}

#[test]
fn egress_is_in_the_table() -> Result {
    let ended = plan(&job(4, 8, 8, "node-local"), &[])?;
    assert!(ended.out.contains("egress           1.00 times the dataset, over 4 nodes"), "{}", ended.out);
    assert!(ended.out.contains("shards a node    8 to 8\n"), "{}", ended.out);
    Ok(())
}

#[test]
fn meshes_and_orders_of_axes() -> Result {
    let mut config = job(2, 8, 1, "node-local");
    config["mesh"] = "pp=2,dp=4,tp=2".into();
    config["replicate"] = json!(["pp", "tp"]);
    config["replication"] = Value::Null;
    let report = report(&config, &[])?;
    assert_eq!(report["shape"], json!([1, 4, 1, 1024, 2]));
    Ok(())
}

#[test]
fn one_worker_is_a_part_of_the_whole() -> Result {
    let mut config = job(2, 2, 1, "node-local");
    config["world"]["workers_per_rank"] = 3.into();
    let whole = report(&config, &["--ids"])?;
    let part = report(&config, &["--ids", "--node", "1", "--rank", "0", "--worker", "2", "--batches", "4..7"])?;
    assert_eq!(part["shape"], json!([1, 1, 1, 3, 2]));
    let batches = whole["shape"][3].as_u64().and_then(|batches| usize::try_from(batches).ok()).ok_or("no shape")?;
    // (node, rank, worker) = (1, 0, 2) of 2 x 2 x 3 workers, batches of 2.
    let first = ((3 * 2 + 2) * batches + 4) * 2;
    let ids = whole["ids"].as_array().ok_or("no ids")?;
    assert_eq!(part["ids"], json!(ids[first..first + 6]));
    assert!(part.get("egress").is_none());
    Ok(())
}

#[test]
fn npy_is_the_array_and_svg_a_picture() -> Result {
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("plan.json");
    let config = job(2, 2, 1, "node-local");
    std::fs::write(&path, config.to_string())?;
    let output = lockstep().args(["plan", "--format", "npy", "--config"]).arg(&path).output()?;
    assert!(output.status.success());
    let report = report(&config, &["--ids"])?;
    let ids: Vec<i64> = serde_json::from_value(report["ids"].clone())?;
    let data: Vec<u8> = ids.iter().flat_map(|id| id.to_le_bytes()).collect();
    assert_eq!(&output.stdout[..6], b"\x93NUMPY");
    assert_eq!(output.stdout[128..], data);
    let svg = plan(&job(2, 2, 1, "node-local"), &["--format", "svg"])?.out;
    assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
    // 4 ranks x 1024 batches, and the background.
    assert_eq!(svg.matches("<rect ").count(), 4 * 1024 + 1);
    Ok(())
}

#[test]
fn null_is_sequential_and_absent_the_default() -> Result {
    let mut config =
        json!({"streams": [{"shard_sizes": [10]}], "world": {"num_nodes": 1, "ranks_per_node": 1}, "batch_size": 5});
    let shuffled = report(&config, &["--ids"])?;
    config["shuffle"] = Value::Null;
    let sequential = report(&config, &["--ids"])?;
    assert_eq!(sequential["ids"], json!([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]));
    assert_ne!(shuffled["ids"], sequential["ids"]);
    Ok(())
}

#[test]
fn what_cannot_be_planned_is_said_in_one_line() -> Result {
    let mut mesh_and_replication = job(2, 4, 2, "node-local");
    mesh_and_replication["mesh"] = "dp=4,tp=2".into();
    mesh_and_replication["replicate"] = "tp".into();
    let cases: [(Value, &str); 8] = [
        (json!({"batch_sizes": 3}), "unknown field `batch_sizes`"),
        (job(2, 4, 3, "node-local"), "replication 3 does not divide the 8 ranks"),
        (mesh_and_replication, "`mesh` and `replication` exclude one another"),
        (job(2, 4, 1, "somewhere"), "somewhere"),
        (job(0, 4, 1, "mosaic"), "num_nodes is 0"),
        (json!({"streams": [], "world": {"num_nodes": 1, "ranks_per_node": 1}, "batch_size": 1}), "stream"),
        (
            json!({"streams": [{"shards": 3}], "world": {"num_nodes": 1, "ranks_per_node": 1}, "batch_size": 1}),
            "either `shard_sizes` is wanted, or `shards` and `samples_per_shard`",
        ),
        (
            json!({"streams": [{"shard_sizes": [9]}], "world": {"num_nodes": 1, "ranks_per_node": 1}, "batch_size": 1, "sample_in_epoch": 100}),
            "100",
        ),
    ];
    for (config, expected) in cases {
        let ended = plan(&config, &[])?;
        assert_eq!(ended.code(), Some(2), "{config}: {}", ended.err);
        assert!(ended.err.starts_with("error: ") && ended.err.contains(expected), "{config}: {}", ended.err);
        assert!(ended.out.is_empty());
    }
    let ended = plan(&job(2, 4, 1, "node-local"), &["--node", "2", "--rank", "0"])?;
    assert_eq!(ended.code(), Some(2), "{}", ended.err);
    let ended = finish(lockstep().args(["plan", "--config", "/nonexistent/plan.json"]))?;
    assert_eq!(ended.code(), Some(1), "{}", ended.err);
    Ok(())
}

#[test]
fn the_table_of_a_huge_plan_has_no_digest() -> Result {
    let mut config = job(1024, 8, 1, "node-local");
    config["streams"] = json!([{"shards": 1 << 20, "samples_per_shard": 1 << 20}]);
    config["shuffle"] = Value::Null;
    let ended = plan(&config, &[])?;
    assert_eq!(ended.code(), Some(0), "{}", ended.err);
    let digest = "sha256 of ids    not computed for so many ids: use --format json\n";
    assert!(ended.out.contains(digest), "{}", ended.out);
    Ok(())
}
