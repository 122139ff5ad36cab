// A made host for the agent's commands, which run as processes.

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ProcTree } from '#test/support/hosts/proc-tree.ts';
import { aSysfsTree, type SysfsTree } from '#test/support/hosts/sysfs.ts';
import { run } from './agent-process.ts';

export const card = '0000:3b:00.0';
export const qat = '0000:6b:00.0';
export const services = `bus/pci/devices/${qat}/services`;
const source = 'edge-agent/main.ts';

/** An operator's driver, which keeps an attribute of a device at a value. */
const driver = `export default ({ defineDriver, z }) =>
  defineDriver({
    name: 'services',
    settings: z.strictObject({ wanted: z.string() }),
    create: ({ wanted }, { sysfs, hardware }) => ({
      name: 'services',
      discover: async () => ({ devices: {} }),
      plan: async () => {
        const before = sysfs.readAttribute('${services}');
        const apply = () => hardware.writeText('${qat}', '${services}', wanted + '\\n');
        const change = { address: '${qat}', what: 'services', before, after: wanted, apply };
        return before === wanted ? [] : [change];
      },
    }),
  });
`;

export interface CommandHost {
  readonly tree: SysfsTree;
  readonly state: string;
  /** The variables of each process; without changes, the driver above is the only one. */
  readonly environment: Record<string, string>;
  /** Puts an operator's driver on the host, in place of the others. */
  haveDriver(name: string, text: string): void;
  /** Has the driver `pci` as the only one, with one entry, and a card for it. */
  offer(entry: Readonly<Record<string, unknown>>): void;
  /** Runs a command to its end. */
  agent(
    args: readonly string[],
    program?: string,
  ): Promise<{ readonly code: number | null; readonly output: string }>;
  /** Starts the agent itself. */
  start(): ReturnType<typeof run>;
  remove(): void;
}

export function createCommandHost(): CommandHost {
  const directory = mkdtempSync(join(tmpdir(), 'agent-commands-'));
  const state = join(directory, 'state');
  const tree = aSysfsTree();
  const proc = new ProcTree();
  const drivers = join(directory, 'drivers.d');
  mkdirSync(drivers, { mode: 0o700 });
  for (const name of ['certificate.pem', 'key.pem']) writeFileSync(join(directory, name), '');
  tree.addFunction({ address: qat }).write(`${tree.pathOf(qat)}/services`, 'sym\n');
  const environment: Record<string, string> = {
    CYBORG_AGENT_HOSTNAME: 'cmp1.example',
    CYBORG_AGENT_STAGE: 'test',
    // Nothing listens: no command connects.
    CYBORG_AGENT_ENDPOINT: 'localhost:1',
    CYBORG_AGENT_CERTIFICATE: join(directory, 'certificate.pem'),
    CYBORG_AGENT_KEY: join(directory, 'key.pem'),
    CYBORG_AGENT_DRIVERS_DIR: drivers,
    CYBORG_AGENT_STATE_DIR: state,
    CYBORG_AGENT_SYSFS_ROOT: tree.root,
    CYBORG_AGENT_PROC_ROOT: proc.root,
  };
  const haveDriver = (name: string, text: string) => {
    writeFileSync(join(drivers, `${name}.mjs`), text, { mode: 0o600 });
    environment.CYBORG_AGENT_DRIVERS = name;
    // Settings of a driver that is not named are a fault.
    delete environment.CYBORG_AGENT_SERVICES;
  };
  haveDriver('services', driver);
  environment.CYBORG_AGENT_SERVICES = '{ "wanted": "dcc" }';
  return {
    tree,
    state,
    environment,
    haveDriver,
    offer: (entry) => {
      environment.CYBORG_AGENT_DRIVERS = 'pci';
      delete environment.CYBORG_AGENT_SERVICES;
      environment.CYBORG_AGENT_PCI = JSON.stringify({ allow_list: [entry] });
      tree
        .addFunction({ address: card, driver: 'nvidia', sriovTotalvfs: 4 })
        .write(`${tree.pathOf(card)}/sriov_vf_device`, '2236\n')
        .write(`${tree.pathOf(card)}/sriov_drivers_autoprobe`, '1\n');
    },
    agent: async (args, program = source) => {
      const process = run(program, environment, args);
      return { code: await process.exited(), output: process.output() };
    },
    start: () => run(source, environment),
    remove: () => {
      tree.remove();
      proc.remove();
      rmSync(directory, { recursive: true });
    },
  };
}
