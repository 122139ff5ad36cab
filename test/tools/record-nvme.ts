// Records what a version of nvme-cli prints of each case, into test/tools/nvme-cli/. It needs gcc,
// and root for a `/dev` of its own.
//
//   node test/tools/record-nvme.ts PROGRAM SOURCE [AS_VERSION]

import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Hardware } from '#agent/hardware/port.ts';
import { type NvmeCase, nvmeCases } from './nvme-cases.ts';
import {
  printRecording,
  type RecordedCase,
  type RecordedRun,
  readRecordings,
} from './recording.ts';

const [program = '', source = '', as] = process.argv.slice(2);
const folder = join(import.meta.dirname, 'nvme-cli');
const controller = 'nvme0';
const directory = mkdtempSync(join(tmpdir(), 'record-nvme-'));
const library = join(directory, 'controller.so');

/** The program sees one controller, of one subsystem; the device that it opens is `/dev/null`. */
const world = `
mount -t tmpfs none /dev && printf '%4096s' > /dev/image && mknod /dev/null c 1 3 || exit 125
mknod /dev/${controller} c 1 3 && mount -t tmpfs none /sys/class || exit 125
nvme=/sys/class/nvme/${controller} subsystem=/sys/class/nvme-subsystem/nvme-subsys0
mkdir -p $nvme/device $subsystem && ln -s $nvme $subsystem/${controller} || exit 125
echo pcie > $nvme/transport && echo 0000:c1:00.0 > $nvme/address && echo live > $nvme/state
echo nqn.recorded | tee $nvme/subsysnqn > $subsystem/subsysnqn
[ ! -f "$NVME_ANSWERS/registers" ] || cp "$NVME_ANSWERS/registers" $nvme/device/resource0
LD_PRELOAD=${library} exec ${program} "$@"`;

function runInWorld(
  { answers, statuses = {} }: Pick<NvmeCase, 'answers' | 'statuses'>,
  args: readonly string[],
) {
  const folder = mkdtempSync(join(directory, 'answers-'));
  for (const [name, content] of Object.entries(answers)) writeFileSync(join(folder, name), content);
  const failing = Object.entries(statuses).map(
    ([code, status]) => `${code}=${status.toString(16)}`,
  );
  const environment = { NVME_ANSWERS: folder, NVME_STATUS: failing.join(' '), LC_ALL: 'C' };
  const child = spawnSync('unshare', ['--mount', 'sh', '-c', world, 'nvme', ...args], {
    encoding: 'utf8',
    env: { PATH: process.env.PATH, ...environment },
  });
  return { exitCode: child.status ?? -1, stdout: child.stdout, stderr: child.stderr };
}

async function record(each: NvmeCase): Promise<RecordedRun[]> {
  const runs: RecordedRun[] = [];
  const exec: Hardware['exec'] = async (_device, _tool, args) => {
    const answer = runInWorld(each, args);
    runs.push({ args, ...answer });
    return answer;
  };
  const hardware = { exec } as Hardware;
  const deps = { hardware, address: '0000:c1:00.0', tool: program, controller };
  // What the driver makes of it is the test's.
  await each.act(deps).catch(() => {});
  return runs;
}

try {
  const code = join(import.meta.dirname, 'nvme-controller.c');
  execFileSync('gcc', ['-shared', '-fPIC', '-O1', '-o', library, code, '-ldl']);
  const version = runInWorld({ answers: {} }, ['version']);
  const [, number = ''] = /version (\S+)/.exec(version.stdout) ?? [];
  const today = new Date().toISOString().slice(0, 10);
  const cases: RecordedCase[] = [{ name: 'version', runs: [{ args: ['version'], ...version }] }];
  for (const each of nvmeCases) cases.push({ name: each.name, runs: await record(each) });
  const base = as === undefined ? undefined : readRecordings('nvme-cli').get(as);
  const head = [
    `nvme-cli ${number}, GPL-2.0, ${source}.`,
    `Recorded ${today} by test/tools/record-nvme.ts, of a controller that it answers for.`,
  ];
  const based = as === undefined || base === undefined ? undefined : ([as, base] as const);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, `${number}.txt`), printRecording({ head, cases }, based));
} finally {
  rmSync(directory, { recursive: true, force: true });
}
