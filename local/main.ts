// `npm start`: the whole system on this machine, until Ctrl-C. State survives a stop; `-- --fresh`
// starts empty, `-- --state DIR` uses another folder, `-- --port-base N` uses N and the ports
// after it.

import { rmSync, writeFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { sentenceOf, showHelp } from '#core/command-line/arguments.ts';
import { announceHost } from './demo/announce-host.ts';
import { demoAgent, demoHostname } from './demo/demo-host.ts';
import { showDevices } from './demo/device-list.ts';
import { prepareFirstServer } from './demo/first-server.ts';
import { guideLines, hasAllFakes } from './guide.ts';
import { bundleConsole } from './process/bundle.ts';
import { writeCloudsFile } from './process/clouds-file.ts';
import { lockDirectory } from './process/directory-lock.ts';
import { chooseLayout, consoleDirectory, portBaseMax, settingsOf } from './process/layout.ts';
import { apiUrl, consoleUrl } from './process/parts.ts';
import { type System, startSystem } from './process/system.ts';

const usage = `npm start -- [--fresh] [--state <folder>] [--port-base <port>]

Runs the whole system on this machine until Ctrl-C.

--fresh      starts empty: removes what the state folder holds
--state      the folder of the state; .local/dev
--port-base  takes this port and the ports after it, from 1024`;

showHelp(usage);
const startedAt = performance.now();

function say(sentence: string): void {
  console.log(`${secondsSoFar().padStart(5)} s  ${sentence}`);
}

function secondsSoFar(): string {
  return ((performance.now() - startedAt) / 1000).toFixed(1);
}

interface Arguments {
  readonly fresh: boolean;
  readonly directory: string;
  readonly portBase: number | undefined;
}

function readArguments(): Arguments {
  const { values } = parseArgs({
    options: {
      fresh: { type: 'boolean', default: false },
      state: { type: 'string', default: join(import.meta.dirname, '..', '.local', 'dev') },
      'port-base': { type: 'string' },
    },
  });
  const base = values['port-base'];
  const portBase = base === undefined ? undefined : Number(base);
  if (
    portBase !== undefined &&
    !(portBase >= 1024 && portBase <= portBaseMax && /^\d+$/.test(`${base}`))
  )
    throw new Error(`--port-base must be a port from 1024 to ${portBaseMax}, not ${base}.`);
  return { fresh: values.fresh, directory: resolve(values.state), portBase };
}

async function main(): Promise<void> {
  const { fresh, directory, portBase } = readArguments();
  lockDirectory(directory);
  const layout = await chooseLayout({ stage: 'dev', directory, anyPorts: false, portBase });
  // Delete after the lock is held: a running system would lose its files.
  if (fresh) rmSync(directory, { recursive: true, force: true });
  let system: System | undefined;
  stopOnSignals(() => system, shown(directory));
  const devices = showDevices(apiUrl(layout), say);
  system = await startSystem({
    layout,
    agents: [demoAgent(join(directory, 'sysfs'))],
    restart: true,
    onProgress: say,
    onLine: (part, line) => {
      if (part === 'consumers' && line.message === 'Inventory changed') devices.look();
    },
    onRestart: (name) => say(`${name} ended unexpectedly; restarting it`),
  });
  if (!layout.replaced.includes('nova') && !layout.replaced.includes('placement'))
    await announceHost(layout, demoHostname);
  if (hasAllFakes(layout)) {
    await prepareFirstServer(layout);
    writeCloudsFile(layout);
  }
  writeFileSync(join(directory, 'environment.json'), JSON.stringify(settingsOf(layout), null, 2));
  const guide = guideLines(layout, shown(layout.directory), process.env).join('\n');
  console.log(`\nReady after ${secondsSoFar()} s. Ctrl-C stops it.\n\n${guide}\n`);
  devices.look();
  // No one waits for it yet, and the start is measured without it.
  await bundleConsole(consoleDirectory(layout)).then(
    () => say(`the console is at ${consoleUrl(layout)}`),
    (error: Error) => say(`the console cannot be bundled: ${error.message}`),
  );
}

/** The state folder as a user would type it. */
function shown(directory: string): string {
  const path = relative(process.cwd(), directory);
  return path.startsWith('..') ? directory : path;
}

function stopOnSignals(system: () => System | undefined, state: string): void {
  let stoppingSince: number | undefined;
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => {
      // One Ctrl-C arrives twice: from the terminal and from npm.
      if (stoppingSince !== undefined && performance.now() - stoppingSince > 1000) process.exit(1);
      if (stoppingSince !== undefined) return;
      stoppingSince = performance.now();
      console.log(`\nStopping. State stays in ${state}; \`npm start -- --fresh\` starts empty.`);
      // While the system starts, its processes end with this one.
      void Promise.resolve(system()?.stop()).then(() => process.exit(0));
    });
  }
}

main().catch((error: Error) => {
  console.error(sentenceOf(error));
  process.exit(2);
});
