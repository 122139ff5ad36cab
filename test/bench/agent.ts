// The agent's cost on a large host: 512 devices, every other one with 16 virtual functions. CPU is
// that of one discovery and its plan; memory is that of the bundled, connected agent, the median
// of several times.

import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { thingName } from '#core/contracts/topics.ts';
import { startBroker } from '#local/aws/broker.ts';
import { openCertificates } from '#local/aws/certificates.ts';
import { aSysfsTree, type SysfsTree } from '#test/support/hosts/sysfs.ts';
import type { Looked } from './agent-discovery.ts';

const deviceCount = 512;
const virtualCount = 4096;
const targets = { cpuMs: 500, residentMegabytes: 90 };
const allowList = [{ vendor_id: '10de', virtual_functions: true }, { vendor_id: '10de' }];

await bench();

async function bench(): Promise<void> {
  const scratch = mkdtempSync(join(tmpdir(), 'agent-bench-'));
  const tree = largeHost();
  try {
    const { cpuMs, devices, handles, reports } = lookElsewhere(scratch, tree.root);
    const residentMegabytes = await measureAgent(scratch, tree.root);
    console.log(
      `agent: ${devices} devices, ${handles} handles, in ${reports} reports: ` +
        `${cpuMs} ms CPU (target ${targets.cpuMs}), ` +
        `${residentMegabytes} MB resident (target ${targets.residentMegabytes})`,
    );
    const isMet = cpuMs <= targets.cpuMs && residentMegabytes <= targets.residentMegabytes;
    process.exitCode = isMet ? 0 : 1;
  } finally {
    tree.remove();
    rmSync(scratch, { recursive: true });
  }
}

function largeHost(): SysfsTree {
  const tree = aSysfsTree();
  const hexadecimal = (number: number, digits: number) => number.toString(16).padStart(digits, '0');
  for (let number = 0; number < deviceCount; number += 1) {
    const address = `${hexadecimal(number >> 8, 4)}:${hexadecimal(number & 255, 2)}:00.0`;
    const carries = number % 2 === 0;
    tree.addFunction({ address, ...(carries && { sriovTotalvfs: 64 }) });
    if (carries) tree.addVirtualFunctions(address, (virtualCount / deviceCount) * 2);
  }
  return tree;
}

/**
 * Runs the discovery in a process of its own, bundled like the agent: compilation is not counted.
 */
function lookElsewhere(scratch: string, sysfsRoot: string): Looked {
  const file = join(scratch, 'look.mjs');
  const root = fileURLToPath(new URL('../..', import.meta.url));
  const bundled = spawnSync(
    join(root, 'node_modules/.bin/esbuild'),
    [
      join(root, 'test/bench/agent-discovery.ts'),
      `--outfile=${file}`,
      '--bundle',
      '--minify',
    ].concat(['--platform=node', '--format=esm', '--target=node20', '--log-level=error']),
    { stdio: 'inherit' },
  );
  if (bundled.status !== 0) throw new Error('The discovery could not be bundled.');
  const { stdout, stderr } = spawnSync(
    process.execPath,
    [file, sysfsRoot, JSON.stringify(allowList)],
    {
      encoding: 'utf8',
    },
  );
  process.stderr.write(stderr);
  return JSON.parse(stdout) as Looked;
}

async function measureAgent(scratch: string, sysfsRoot: string): Promise<number> {
  const certificates = openCertificates(join(scratch, 'certificates'));
  let reports = 0;
  const broker = await startBroker({
    stage: 'bench',
    certificates: certificates.server,
    deliver: async (topic) => {
      if (topic.endsWith('/inventory')) reports += 1;
    },
  });
  spawnSync(process.execPath, [
    fileURLToPath(import.meta.resolve('#infra/bundle/bundle-agent.ts')),
  ]);
  const files = certificates.issueHostCertificate(thingName('bench', 'cmp1'));
  const agent = spawn(process.execPath, ['dist/cyborg-agent.mjs'], {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: {
      CYBORG_AGENT_HOSTNAME: 'cmp1',
      CYBORG_AGENT_STAGE: 'bench',
      CYBORG_AGENT_ENDPOINT: `127.0.0.1:${broker.port}`,
      CYBORG_AGENT_CERTIFICATE: files.certificateFile,
      CYBORG_AGENT_KEY: files.keyFile,
      CYBORG_AGENT_CA: files.authorityFile,
      CYBORG_AGENT_DRIVERS: 'pci',
      CYBORG_AGENT_PCI: JSON.stringify({ allow_list: allowList }),
      CYBORG_AGENT_SYSFS_ROOT: sysfsRoot,
      CYBORG_AGENT_STATE_DIR: join(scratch, 'state'),
      CYBORG_AGENT_INTERVAL_SECONDS: '1',
    },
  });
  try {
    for (let waited = 0; reports === 0 && waited < 100; waited += 1) await sleep(100);
    const samples: number[] = [];
    for (let count = 0; count < 11; count += 1) {
      await sleep(500);
      const status = readFileSync(`/proc/${agent.pid}/status`, 'utf8');
      samples.push((Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) * 1024) / 1e6);
    }
    return Math.round(samples.sort((a, b) => a - b)[5] ?? 0);
  } finally {
    agent.kill();
    await broker.stop();
  }
}
