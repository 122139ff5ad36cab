// What dpkg needs beside the files. The scripts take DPKG_ROOT, so that a package can be installed
// into the tree of another system, as image builders do.

interface DebianFacts {
  /** The agent's version, then its packaging's: `0.2.0-1`. */
  readonly version: string;
  /** Debian's name of the processor. */
  readonly architecture: string;
  readonly installedKilobytes: number;
}

/** The libraries are those that Node's program names (readelf), with the symbols that it needs. */
export function control({ version, architecture, installedKilobytes }: DebianFacts): string {
  return `Package: cyborg-agent
Version: ${version}
Architecture: ${architecture}
Maintainer: The cyborg-serverless developers <maintainers@cyborg-serverless.invalid>
Installed-Size: ${installedKilobytes}
Depends: libc6 (>= 2.28), libgcc-s1 | libgcc1, libstdc++6 (>= 5.2)
Recommends: iproute2
Suggests: nvme-cli
Section: admin
Priority: optional
Description: agent of the accelerator service on a compute node
 Finds FPGAs, GPUs, network cards and other accelerators of this host, reports
 them to the control plane, and prepares and cleans them for instances.
 It contains its own Node.
`;
}

/** Files of which dpkg keeps what the administrator has changed. */
export const configurationFiles = '/etc/default/cyborg-agent\n';

/** An agent without settings would end with 78 at each start. */
export const afterInstallation = `#!/bin/sh
set -e
if [ "$1" = configure ]; then
  mkdir -p -m 0700 "$DPKG_ROOT/etc/cyborg-agent"
  if [ -z "$DPKG_ROOT" ] && [ -d /run/systemd/system ]; then
    systemctl daemon-reload
    if [ -n "$2" ]; then
      systemctl try-restart cyborg-agent.service
    elif [ -e /etc/cyborg-agent/agent.json ]; then
      systemctl enable --now cyborg-agent.service
    else
      echo "cyborg-agent: enrol this host, then: systemctl enable --now cyborg-agent" >&2
    fi
  fi
fi
`;

/** An upgrade leaves the agent running until its new files are complete. */
export const beforeRemoval = `#!/bin/sh
set -e
if [ "$1" = remove ] && [ -z "$DPKG_ROOT" ] && [ -d /run/systemd/system ]; then
  systemctl disable --now cyborg-agent.service
fi
`;

/** The state names the vGPUs on this host that are ours: without it none is ever removed. */
export const afterRemoval = `#!/bin/sh
set -e
if [ "$1" = purge ]; then
  rmdir "$DPKG_ROOT/etc/cyborg-agent" 2>/dev/null || true
  for left in etc/cyborg-agent var/lib/cyborg-agent; do
    if [ -e "$DPKG_ROOT/$left" ]; then
      echo "cyborg-agent: /$left is kept; remove it if this host is gone for good" >&2
    fi
  done
fi
if [ -z "$DPKG_ROOT" ] && [ -d /run/systemd/system ]; then
  systemctl daemon-reload
fi
`;

export const defaults = `# Environment of the agent: overrides /etc/cyborg-agent/agent.json, setting by setting.
# CYBORG_AGENT_LOG_LEVEL=debug
`;

/** Starts the agent with its own Node, wherever the tree is. */
export const launcher = `#!/bin/sh
lib=$(dirname "$(dirname "$(readlink -f "$0")")")/lib/cyborg-agent
exec "$lib/node" "$lib/cyborg-agent.mjs" "$@"
`;

/** @param unit the unit for an agent that was copied by hand, with the Node of the host */
export function packagedUnit(unit: string): string {
  const start = /^ExecStart=.*$/m;
  if (!start.test(unit)) throw new Error('The unit has no ExecStart.');
  return unit.replace(
    start,
    'EnvironmentFile=-/etc/default/cyborg-agent\nExecStart=/usr/bin/cyborg-agent',
  );
}
