//! Logs: to stderr, at the level that the SDKs' words name.

use tracing::level_filters::LevelFilter;

/// The level that a word names. An unknown word is no reason not to start.
fn level(word: &str) -> LevelFilter {
    match word {
        "none" => LevelFilter::OFF,
        "error" => LevelFilter::ERROR,
        "info" => LevelFilter::INFO,
        "debug" => LevelFilter::DEBUG,
        "all" => LevelFilter::TRACE,
        _ => LevelFilter::WARN,
    }
}

/// Starts logging.
pub fn start(word: &str) {
    let ansi = std::io::IsTerminal::is_terminal(&std::io::stderr());
    // Somebody else may have set a logger already (a test); theirs is as good.
    let _ =
        tracing_subscriber::fmt().with_writer(std::io::stderr).with_max_level(level(word)).with_ansi(ansi).with_target(false).try_init();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_of_the_sdks_is_known() {
        let words = ["none", "error", "warning", "info", "debug", "all", "default"];
        let levels = [
            LevelFilter::OFF,
            LevelFilter::ERROR,
            LevelFilter::WARN,
            LevelFilter::INFO,
            LevelFilter::DEBUG,
            LevelFilter::TRACE,
            LevelFilter::WARN,
        ];
        assert_eq!(words.map(level), levels);
    }
}
