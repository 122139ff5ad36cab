// `npm run demo`: boots servers with accelerators, from the host's report to the release of the
// last handle, on a system of its own on free ports. Exits 0 only if every step succeeds.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { takeNoArguments } from '#core/command-line/arguments.ts';
import { chooseLayout, urlOf } from '#local/process/layout.ts';
import { startSystem } from '#local/process/system.ts';
import { announceHost } from './announce-host.ts';
import { client } from './demo-client.ts';
import { demoAgent, demoHostname } from './demo-host.ts';
import { playDemo } from './steps.ts';
import { noteProgress } from './stillness.ts';

takeNoArguments(
  'npm run -s demo    one server with two accelerators, from report to release, on this machine',
);

const startedAt = performance.now();
let stepStartedAt = startedAt;
let steps = 0;

function done(sentence: string): void {
  const now = performance.now();
  steps++;
  console.log(`${`${Math.round(now - stepStartedAt)} ms`.padStart(9)}  ${sentence}`);
  stepStartedAt = now;
}

async function demo(directory: string): Promise<void> {
  const layout = await chooseLayout({ stage: 'demo', directory, anyPorts: true });
  const system = await startSystem({
    layout,
    agents: [demoAgent(join(directory, 'sysfs'))],
    restart: false,
    onProgress: noteProgress,
    onLine: noteProgress,
  });
  try {
    await announceHost(layout, demoHostname);
    done('the system is up, each part in a process of its own');
    await playDemo({
      stage: layout.stage,
      api: client(`${urlOf(layout, 'api')}/accelerator/v2`),
      nova: client(`${urlOf(layout, 'nova')}/v2.1`),
      placement: client(urlOf(layout, 'placement')),
      glance: client(urlOf(layout, 'glance')),
      done,
    });
  } finally {
    await system.stop();
  }
}

const directory = mkdtempSync(join(tmpdir(), 'cyborg-demo-'));
try {
  await demo(directory);
  rmSync(directory, { recursive: true, force: true });
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
  console.log(`\nAll ${steps} steps succeeded; ${seconds} s in all.`);
} catch (error) {
  console.error(`\nThe demo failed after ${steps} steps. ${(error as Error).message}`);
  console.error(`The logs are in ${join(directory, 'logs')}.`);
  process.exitCode = 1;
}
