// `npm start`: the whole system on this machine, until Ctrl-C. State survives a stop; `-- --fresh`
// starts empty, `-- --state DIR` uses another folder, `-- --port-base N` uses N and the ports
// after it.

import { rmSync, writeFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { sentenceOf, showHelp } from '#operate/arguments.ts';
import { announceHost } from './demo/announce-host.ts';
import { demoAgent, demoHostname } from './demo/demo-host.ts';
import { showDevices } from './demo/device-list.ts';
import { password, staticTokens } from './openstack/catalog.ts';
import { bundleConsole } from './process/bundle.ts';
import { lockDirectory } from './process/directory-lock.ts';
import {
  chooseLayout,
  consoleDirectory,
  type Layout,
  portBaseMax,
  portNames,
  replacedBy,
  settingsOf,
  urlOf,
} from './process/layout.ts';
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
  console.log(`${((performance.now() - startedAt) / 1000).toFixed(1).padStart(5)} s  ${sentence}`);
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
      if (part === 'consumers' && line.message === 'Inventory changed.') devices.look();
    },
    onRestart: (name) => say(`${name} ended unexpectedly; restarting it`),
  });
  if (!layout.replaced.includes('nova') && !layout.replaced.includes('placement'))
    await announceHost(layout, demoHostname);
  writeFileSync(join(directory, 'environment.json'), JSON.stringify(settingsOf(layout), null, 2));
  printGuide(layout);
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

function printGuide(layout: Layout): void {
  const api = `${urlOf(layout, 'api')}/accelerator/v2`;
  const state = shown(layout.directory);
  const services = portNames.map((name) => {
    const variable = replacedBy[name];
    const where = layout.replaced.includes(name)
      ? `${process.env[variable ?? '']} (from ${variable})`
      : urlOf(layout, name);
    return `  ${name.padEnd(10)} ${where}`;
  });
  const userNames = ['admin', 'reader', 'manager', 'demo'];
  const tokens = [
    'admin-token',
    'demo-token',
    'reader-token',
    'manager-token',
    'alt-token',
    'nova-token',
  ];
  console.log(`
Ready after ${((performance.now() - startedAt) / 1000).toFixed(1)} s. Ctrl-C stops it.

${services.join('\n')}
  console    ${consoleUrl(layout)}
  logs       ${state}/logs
  announced  ${state}/events.jsonl

Tokens: ${tokens.filter((token) => token in staticTokens).join(', ')}
Users of the console: ${userNames.join(', ')}; password ${password}; project admin, or demo

A server with an accelerator, step by step:
  curl -s -H 'X-Auth-Token: manager-token' ${api}/devices
  curl -s -H 'X-Auth-Token: admin-token' -H 'Content-Type: application/json' ${api}/device_profiles \\
    -d '[{"name":"fpga","groups":[{"resources:FPGA":"1","trait:CUSTOM_FAKE_DEVICE":"required"}]}]'
  curl -s -H 'X-Auth-Token: admin-token' -H 'Content-Type: application/json' ${urlOf(layout, 'nova')}/v2.1/flavors \\
    -d '{"flavor":{"id":"1","name":"accel","vcpus":1,"ram":64,"disk":1}}'
  curl -s -H 'X-Auth-Token: admin-token' -H 'Content-Type: application/json' ${urlOf(layout, 'nova')}/v2.1/flavors/1/os-extra_specs \\
    -d '{"extra_specs":{"accel:device_profile":"fpga"}}'
  curl -s -H 'X-Auth-Token: demo-token' -H 'Content-Type: application/json' ${urlOf(layout, 'nova')}/v2.1/servers \\
    -d '{"server":{"name":"vm1","flavorRef":"1"}}'
  sleep 1; curl -s -H 'X-Auth-Token: demo-token' ${urlOf(layout, 'nova')}/v2.1/servers/detail      # ACTIVE
  curl -s -H 'X-Auth-Token: demo-token' ${api}/accelerator_requests      # Bound

What is wrong, if something is: npm run -s doctor -- --environment ${state}/environment.json
`);
}

main().catch((error: Error) => {
  console.error(sentenceOf(error));
  process.exit(2);
});
