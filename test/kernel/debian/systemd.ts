// A root file system with Debian's systemd and dpkg, for hosts whose first process is systemd.

import { join } from 'node:path';
import { fetchRoot, link, own, write } from './root.ts';

/** Their dependencies come with them. util-linux, grep and sed are on every Debian. */
const packages = [
  ...['systemd', 'dpkg', 'dash', 'coreutils', 'util-linux', 'grep', 'sed', 'diffutils', 'tar'],
  ...['kmod', 'libc-bin', 'libstdc++6', 'iproute2', 'nvme-cli'],
];

/**
 * The service of the suite's own commands; the VM ends with it. Its Node is not on the path of
 * others: the agent's package brings its own.
 */
const commands = `[Unit]
Description=Commands of the suite
SuccessAction=poweroff-immediate
FailureAction=poweroff-immediate

[Service]
Environment=UV_THREADPOOL_SIZE=16 HOME=/root
Environment=PATH=/usr/local/bin:/usr/sbin:/usr/bin:${own}/usr/local/bin
ExecStart=${own}/usr/bin/node ${own}/commands.mjs
StandardOutput=tty
TTYPath=/dev/console
`;

/** Units that need what the VM does not have: terminals, D-Bus. */
const masked = ['getty.target', 'systemd-logind.service'];

/** @param directory of the cache @throws CannotRun where the packages cannot be fetched */
export function fetchSystemd(directory: string): string {
  const options = { packages, madeBy: import.meta.filename, configure };
  return fetchRoot(join(directory, 'systemd'), options);
}

function configure(root: string): void {
  write(root, 'etc/passwd', 'root:x:0:0::/root:/bin/sh\nnobody:x:65534:65534::/:/bin/false\n');
  write(root, 'etc/group', 'root:x:0:\ntty:x:5:\nnogroup:x:65534:\n');
  const units = 'etc/systemd/system';
  write(root, `${units}/suite.service`, commands);
  link(root, '../suite.service', `${units}/multi-user.target.wants/suite.service`);
  link(root, '/usr/lib/systemd/system/multi-user.target', `${units}/default.target`);
  for (const unit of masked) link(root, '/dev/null', `${units}/${unit}`);
  link(root, '../lib/systemd/systemd', 'usr/sbin/init');
}
