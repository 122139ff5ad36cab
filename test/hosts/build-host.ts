// Builds the trees of sysfs and procfs of a recorded host.

import type { HostRecord, RecordedFunction } from '#agent/record/host-record.ts';
import { aGuardedHost, type GuardedHost } from '#test/support/hosts/guarded-host.ts';

/** Records of others often lack these: what most hosts with accelerators have. */
const assumed = { resets: 'flr' } as const;

export function buildHost(record: HostRecord): GuardedHost {
  const host = aGuardedHost();
  // A function needs the one above it, and its physical one.
  const left = new Map(record.functions.map((each) => [each.address, each]));
  const add = (fn: RecordedFunction) => {
    left.delete(fn.address);
    for (const name of ['below', 'physical'] as const) {
      const needed = left.get(fn.values[name] ?? '');
      if (needed) add(needed);
    }
    addFunction(host, fn, hasGroups);
  };
  const hasGroups = record.functions.some(({ values }) => values.group !== undefined);
  for (const fn of record.functions) if (left.has(fn.address)) add(fn);
  addUses(host, record);
  return host;
}

function addFunction({ tree, ...host }: GuardedHost, fn: RecordedFunction, hasGroups: boolean) {
  const { address, ids, classCode, values } = fn;
  const [vendor, product] = ids.split(':') as [string, string];
  const { below, physical, group, vfs } = values;
  tree.addFunction({
    address,
    vendor,
    product,
    classCode,
    subsystem: values.subsystem ?? '0000:0000',
    driver: values.driver,
    revision: values.rev ?? '00',
    numaNode: Number(values.node ?? -1),
    resetMethod: listed(values.resets ?? assumed.resets).join(' '),
    ...(hasGroups && { iommuGroup: listed(group).map(Number)[0] }),
    ...(below !== undefined && { below }),
    ...(physical !== undefined && { physicalFunction: physical }),
    ...(vfs !== undefined && { sriovTotalvfs: Number(vfs) }),
  });
  const path = tree.pathOf(address);
  if (values['boot-vga']) tree.write(`${path}/boot_vga`, '1\n');
  if (values['vf-product']) tree.write(`${path}/sriov_vf_device`, `${values['vf-product']}\n`);
  for (const type of values['mdev-types']?.split(',') ?? []) {
    tree.write(`${path}/mdev_supported_types/${type}/available_instances`, '0\n');
  }
  for (const name of ['net', 'drm', 'accel', 'graphics', 'nvme', 'block', 'infiniband'] as const) {
    for (const entry of values[name]?.split(',') ?? []) {
      host.addEntry(`class/${name}/${entry}`, address, `${name}/${entry}`);
    }
  }
}

/** `none` is what a host has shown; what a record does not have is not known. */
function listed(value: string | undefined): string[] {
  return value === undefined || value === 'none' ? [] : value.split(',');
}

function addUses({ tree, proc }: GuardedHost, record: HostRecord) {
  for (const [network, master] of Object.entries(record.masters)) {
    tree.link(`class/net/${network}/master`, `class/net/${master}`);
  }
  const routes = Object.entries(record.routes).map(([network, kind]) =>
    [
      network,
      ...(kind === 'default'
        ? ['00000000', '01010101', '3', '0', '0', '0', '00000000']
        : ['01010100', '00000000', '1', '0', '0', '0', '00FFFFFF']),
    ].join('\t'),
  );
  proc.write('net/route', ['Iface\tDestination', ...routes, ''].join('\n'));
  const mounts = Object.entries(record.mounts).filter(([, at]) => at !== 'swap');
  const lines = mounts.map(
    ([block, at]) => `1 0 0:0 / ${at === '/' ? '/' : `/${at}`} rw - ext4 /dev/${block} rw`,
  );
  const mountinfo = `${lines.join('\n')}\n`;
  proc.addProcess(1, { comm: 'systemd', mountinfo });
  proc.write('self/mountinfo', mountinfo);
  const swaps = Object.entries(record.mounts).filter(([, at]) => at === 'swap');
  proc.write(
    'swaps',
    ['Filename', ...swaps.map(([block]) => `/dev/${block} partition`), ''].join('\n'),
  );
  for (const [block, holder] of Object.entries(record.holders)) {
    tree.write(`class/block/${block}/holders/${holder}/dev`, '0:0\n');
  }
}
