//! `subagentd connect`: stdio ⇄ the shared daemon, starting it if none runs.

use super::{Common, Outcome};
use crate::config::usual_socket;
use crate::daemon::block_on;
use crate::transport::{listen, stdio};
use std::io::{Error, Result};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tokio::io::AsyncWriteExt;
use tokio::net::UnixStream;

/// How long a daemon that we start has to listen.
const START_TIME: Duration = Duration::from_secs(10);

/// Flags of `connect`.
#[derive(clap::Args, Default)]
pub struct ConnectArgs {
    /// The daemon's Unix socket [default: $XDG_RUNTIME_DIR/subagentd/subagentd.sock]
    #[arg(long, value_name = "PATH")]
    pub socket: Option<PathBuf>,
}

/// Relays until either side ends.
pub fn run(args: &ConnectArgs, common: &Common) -> Outcome {
    let socket = args.socket.clone().unwrap_or_else(usual_socket);
    block_on(relay(&socket, common))??;
    Ok(())
}

async fn relay(path: &Path, common: &Common) -> Result<()> {
    let daemon = match UnixStream::connect(path).await {
        Ok(daemon) => daemon,
        Err(_) => start_daemon(path, common).await?,
    };
    let mut here = stdio::stdio()?;
    let (mut from_daemon, mut to_daemon) = daemon.into_split();
    let up = async {
        let copied = tokio::io::copy(&mut here.reader, &mut to_daemon).await;
        let _ = to_daemon.shutdown().await;
        copied
    };
    let down = tokio::io::copy(&mut from_daemon, &mut here.writer);
    // The SDK closing its side ends us; so does the daemon.
    tokio::select! {
        up = up => up.map(drop),
        down = down => down.map(drop),
    }
}

/// Another's daemon was faster: ours must not stay behind, to take its place when it ends.
fn end_if_spare(daemon: &mut Child, socket: &Path) {
    if listen::lock_holder(socket).is_some_and(|holder| holder != daemon.id()) {
        let _ = daemon.kill();
        let _ = daemon.wait();
    }
}

/// Starts a daemon in a session of its own and waits until it listens. When several of us do this at once, the
/// daemons' lock lets one of them live, and all find that one.
async fn start_daemon(path: &Path, common: &Common) -> Result<UnixStream> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("serve").arg("--socket").arg(path);
    command.args(common.runtime.iter().flat_map(|r| ["--runtime".as_ref(), r.as_ref() as &std::ffi::OsStr]));
    command.args(common.config.iter().flat_map(|c| ["--config".as_ref(), c.as_os_str()]));
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::inherit());
    // SAFETY: setsid is safe to call between fork and exec.
    unsafe {
        command.pre_exec(|| {
            libc::setsid();
            Ok(())
        });
    }
    let mut daemon = command.spawn()?;
    let deadline = Instant::now() + START_TIME;
    loop {
        match UnixStream::connect(path).await {
            Ok(stream) => {
                end_if_spare(&mut daemon, path);
                return Ok(stream);
            }
            Err(error) if Instant::now() > deadline => {
                return Err(Error::new(error.kind(), format!("no daemon answers on {}: {error}", path.display())));
            }
            Err(_) => {}
        }
        if let Some(status) = daemon.try_wait()?
            && UnixStream::connect(path).await.is_err()
            && !status.success()
        {
            return Err(Error::other(format!("the daemon for {} did not start ({status}); its reason is above", path.display())));
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}
