// Records what releases of iproute2 print of each case, into test/tools/iproute2/, in the VM of
// test/kernel/. FOLDER has the programs as `ip-6.17.0` and `devlink-6.17.0`.
//
//   node test/tools/record-iproute2.ts CACHE FOLDER SOURCE VERSION...

import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Hardware } from '#agent/hardware/port.ts';
import { fetchNewerQemu } from '#test/kernel/debian/qemu.ts';
import type { Guest } from '#test/kernel/machine/guest.ts';
import { ensureImage } from '#test/kernel/machine/image.ts';
import { Stage } from '#test/kernel/stage.ts';
import { eventually } from '#test/support/suites/rest.ts';
import { iproute2Cases, link } from './iproute2-cases.ts';
import {
  printRecording,
  type RecordedCase,
  type RecordedRun,
  type Recording,
} from './recording.ts';

const [cache = '', folder = '', source = '', ...versions] = process.argv.slice(2);
const card = `/sys/bus/pci/devices/${link.address}`;

async function prepareGuest(guest: Guest): Promise<void> {
  const [name = ''] = await eventually(
    () => guest.list(`${card}/net`).catch(() => []),
    (found) => found.length === 1,
  );
  await guest.run('ip', 'link', 'set', 'dev', name, 'name', link.name);
  await guest.run('ip', 'link', 'set', 'dev', link.name, 'up');
  await guest.run('modprobe', 'fake_pci', 'devs=15b3:101d:020000', 'behind=0000:00:04.0');
  await guest.run('modprobe', 'fake_nic', 'version=1.0');
}

/** The functions are made anew: what an earlier version has set is gone. */
async function renew(guest: Guest): Promise<void> {
  await guest.write(`${card}/sriov_numvfs`, '0');
  await guest.write(`${card}/sriov_drivers_autoprobe`, '0');
  await guest.write(`${card}/sriov_numvfs`, '2');
}

/** igb looks every other second, and takes no rates without. */
async function untilCarrier(guest: Guest): Promise<void> {
  await eventually(
    () => guest.read(`${card}/net/${link.name}/carrier`),
    (text) => text === '1',
  );
}

async function record(guest: Guest, version: string): Promise<RecordedCase[]> {
  for (const name of ['ip', 'devlink']) {
    await guest.save(`/tmp/${version}/${name}`, readFileSync(join(folder, `${name}-${version}`)));
    await guest.run('chmod', '755', `/tmp/${version}/${name}`);
  }
  await renew(guest);
  const cases: RecordedCase[] = [];
  const ask = async (runs: RecordedRun[], tool: string, args: readonly string[]) => {
    const { code, ...said } = await guest.tryRun(`/tmp/${version}/${tool}`, ...args);
    const answer = { ...said, exitCode: code };
    runs.push({ args: [tool, ...args], ...answer });
    return answer;
  };
  for (const [program, args] of [
    ['ip', '-V'],
    ['devlink', '-V'],
  ] as const) {
    const runs: RecordedRun[] = [];
    await ask(runs, program, [args]);
    cases.push({ name: `version of ${program}`, runs });
  }
  for (const { name, before = [], act } of iproute2Cases) {
    for (const args of before) await guest.run('ip', 'link', 'set', 'dev', link.name, ...args);
    await untilCarrier(guest);
    const runs: RecordedRun[] = [];
    const exec: Hardware['exec'] = (_device, tool, args) => ask(runs, tool, args);
    // What the driver makes of it is the test's.
    await act({ exec } as Hardware).catch(() => {});
    cases.push({ name, runs });
  }
  return cases;
}

const directory = mkdtempSync(join(tmpdir(), 'record-iproute2-'));
const prepare = ({ guest }: Stage) => prepareGuest(guest);
const stage = new Stage({
  group: { name: 'iproute2', networkCard: true, prepare, scenarios: [] },
  hosts: undefined,
  image: await ensureImage(cache),
  qemu: fetchNewerQemu(cache),
  directory,
});
try {
  await stage.boot();
  const to = join(import.meta.dirname, 'iproute2');
  mkdirSync(to, { recursive: true });
  const today = new Date().toISOString().slice(0, 10);
  let base: readonly [string, Recording] | undefined;
  for (const version of versions) {
    const cases = await record(stage.guest, version);
    const head = [
      `iproute2 ${version}, GPL-2.0, ${source} ${version}.`,
      `Recorded ${today} by test/tools/record-iproute2.ts, on Linux 6.1 with igb and fake_nic.`,
    ];
    writeFileSync(join(to, `${version}.txt`), printRecording({ head, cases }, base));
    base = [version, { head, cases }];
  }
} finally {
  await stage.powerOff();
  rmSync(directory, { recursive: true, force: true });
}
