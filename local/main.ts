// `npm start`: the whole system on this machine, until Ctrl-C. State survives; `-- --fresh` starts
// empty.

import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { sentenceOf } from '#operate/arguments.ts';
import { announceHost } from './announce-host.ts';
import { demoAgent, demoHostname } from './demo-host.ts';
import { lockDirectory } from './directory-lock.ts';
import { chooseLayout, type Layout, portNames, replacedBy, settingsOf, urlOf } from './layout.ts';
import { staticTokens } from './openstack/catalog.ts';
import { startSystem } from './system.ts';

const startedAt = performance.now();
const directory = join(import.meta.dirname, '..', '.local', 'dev');

function seconds(): string {
  return `${((performance.now() - startedAt) / 1000).toFixed(1)} s`;
}

async function main(): Promise<void> {
  const { fresh } = parseArgs({ options: { fresh: { type: 'boolean' } } }).values;
  lockDirectory(directory);
  const layout = await chooseLayout({ stage: 'dev', directory, anyPorts: false });
  // Only now: a system that still runs would lose what is below it.
  if (fresh) rmSync(directory, { recursive: true, force: true });
  const system = await startSystem({
    layout,
    agents: [demoAgent(join(directory, 'sysfs'))],
    restart: true,
    onLine: (part, line) => {
      if (part === 'consumers' && line.message === 'Inventory changed.') printInventory(line);
    },
    onRestart: (name) => console.log(`${seconds()}  ${name} has died; it is started again`),
  });
  let stoppingSince: number | undefined;
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => {
      // One Ctrl-C comes twice: from the terminal, and by npm.
      if (stoppingSince !== undefined && performance.now() - stoppingSince > 1000) process.exit(1);
      if (stoppingSince !== undefined) return;
      stoppingSince = performance.now();
      console.log('\nStopping. State stays in .local/dev; `npm start -- --fresh` starts empty.');
      void system.stop().then(() => process.exit(0));
    });
  }
  if (!layout.replaced.includes('nova') && !layout.replaced.includes('placement'))
    await announceHost(layout, demoHostname);
  writeFileSync(join(directory, 'environment.json'), JSON.stringify(settingsOf(layout), null, 2));
  printGuide(layout);
}

function printInventory(line: Readonly<Record<string, unknown>>): void {
  const put = (line.put as string[]).map((address) => `+ ${address}`);
  const retired = (line.retired as string[]).map((address) => `- ${address}`);
  console.log(`${seconds()}  ${line.host} reports ${[...put, ...retired].join(', ')}`);
}

function printGuide(layout: Layout): void {
  const api = `${urlOf(layout, 'api')}/accelerator/v2`;
  const services = portNames.map((name) => {
    const variable = replacedBy[name];
    const where = layout.replaced.includes(name)
      ? `${process.env[variable ?? '']} (from ${variable})`
      : urlOf(layout, name);
    return `  ${name.padEnd(10)} ${where}`;
  });
  const tokens = [
    'admin-token',
    'demo-token',
    'reader-token',
    'manager-token',
    'alt-token',
    'nova-token',
  ];
  console.log(`
Ready after ${seconds()}. Ctrl-C stops it.

${services.join('\n')}
  logs       .local/dev/logs
  announced  .local/dev/events.jsonl

Tokens: ${tokens.filter((token) => token in staticTokens).join(', ')}

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

What is wrong, if something is: npm run -s doctor -- --environment .local/dev/environment.json
`);
}

main().catch((error: Error) => {
  console.error(sentenceOf(error));
  process.exit(1);
});
