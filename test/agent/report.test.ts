// The agent's process against a real broker: its reports, and that they stay right after any kill.

import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type InventoryReport, inventoryReport } from '#core/contracts/report/inventory-report.ts';
import { inventoryTopic } from '#core/contracts/topics.ts';
import { type LocalBroker, startBroker } from '#local/aws/broker.ts';
import { type Certificates, openCertificates } from '#local/aws/certificates.ts';
import { aControlPlane, type ControlPlaneModel } from '#test/support/control-plane-model.ts';
import { DomainFolder } from '#test/support/hosts/domain-folder.ts';
import { SysfsTree } from '#test/support/hosts/sysfs.ts';
import { eventually } from '#test/support/vitest/eventually.ts';
import { directoryPerFile, directoryPerTest } from '#test/support/vitest/shared.ts';
import { type AgentProcess, startAgent } from './agent-process.ts';

const thing = 'test:cmp1:example';
const topic = inventoryTopic('test', thing);
const card = '0000:3b:00.0';
const ourAuthority = directoryPerFile();
let certificates: Certificates;
const directory = directoryPerTest();
let tree: SysfsTree;
let broker: LocalBroker;
let controlPlane: ControlPlaneModel;
let reports: InventoryReport[];

/** The broker awaits this before it acknowledges. */
let beforeAcknowledging: () => Promise<void>;
const agents: AgentProcess[] = [];

beforeAll(() => {
  certificates = openCertificates(ourAuthority);
});

beforeEach(async () => {
  tree = new SysfsTree(join(directory, 'sys'));
  controlPlane = aControlPlane();
  reports = [];
  beforeAcknowledging = async () => {};
  broker = await aBroker();
});

afterEach(async () => {
  for (const agent of agents.splice(0)) await agent.killHard();
  await broker.stop();
});

function aBroker(port = 0): Promise<LocalBroker> {
  return startBroker({
    stage: 'test',
    port,
    certificates: certificates.server,
    deliver: async (published, payload) => {
      if (/^\$aws\/(events|things)\//.test(published)) return;
      expect(published).toBe(topic);
      const report = inventoryReport.parse(JSON.parse(payload.toString()));
      reports.push(report);
      await beforeAcknowledging();
      controlPlane.apply(report);
    },
  });
}

function anAgent(settings: Readonly<Record<string, string>> = {}, program?: string): AgentProcess {
  const agent = startAgent({
    directory,
    broker,
    certificate: certificates.issueHostCertificate(thing),
    settings,
    ...(program && { program }),
  });
  agents.push(agent);
  return agent;
}

const pci = {
  CYBORG_AGENT_DRIVERS: 'fake,pci',
  CYBORG_AGENT_PCI: JSON.stringify({
    allow_list: [{ vendor_id: '10de', virtual_functions: true }, { vendor_id: '10de' }],
  }),
};

function addresses(): string[] {
  return controlPlane.devices().map(({ address }) => address);
}

function handleCount(): number {
  return (
    controlPlane.devices().find(({ address }) => address === card)?.offers?.attach_handles.length ??
    0
  );
}

describe('an agent', () => {
  it('reports its host, over mutual TLS', async () => {
    tree.addFunction({ address: card });
    anAgent(pci);
    await eventually(addresses).toEqual(['0000:0c:00.0', card]);
  });

  it('reports what its hypervisor takes, in every report', async () => {
    anAgent({ CYBORG_AGENT_ATTACH_TYPES: 'MDEV,PCI' });
    await eventually(addresses).toEqual(['0000:0c:00.0']);
    const named = reports.map(({ attach_types: types }) => types);
    expect(named).toEqual(reports.map(() => ['PCI', 'MDEV']));
  });

  it('reports the same as one bundled file', async () => {
    execFileSync(process.execPath, ['infra/bundle/bundle-agent.ts']);
    anAgent({}, 'dist/cyborg-agent.mjs');
    await eventually(addresses).toEqual(['0000:0c:00.0']);
  });

  it('notices virtual functions and lost devices by itself', async () => {
    tree.addFunction({ address: card, sriovTotalvfs: 8 });
    anAgent({ ...pci, CYBORG_AGENT_INTERVAL_SECONDS: '3600' });
    await eventually(handleCount).toBe(1);
    tree.addVirtualFunctions(card, 8);
    await eventually(handleCount).toBe(8);
    tree.removeFunction(card);
    await eventually(addresses).toEqual(['0000:0c:00.0']);
  });

  it('keeps away from what a stopped server has, until libvirt has it no longer', async () => {
    const other = '0000:5e:00.0';
    tree.addFunction({ address: card }).addFunction({ address: other });
    const domains = new DomainFolder().define('instance-0000001f', [card]);
    const settings = { ...pci, CYBORG_AGENT_DOMAINS_DIR: domains.path };
    try {
      const agent = anAgent(settings);
      await eventually(addresses).toEqual(['0000:0c:00.0', other]);
      const reason = 'belongs to a server: the domain instance-0000001f of libvirt has it';
      expect(reports.at(-1)?.not_offered).toEqual([{ address: card, driver: 'pci', reason }]);
      // What is offered is defined as soon as a server of this service has it.
      domains.define('instance-00000020', [other]).undefine('instance-0000001f');
      await eventually(addresses).toEqual(['0000:0c:00.0', card, other]);
      domains.define('instance-00000021', [card]);
      await agent.stop();
      controlPlane = aControlPlane();
      anAgent(settings);
      await eventually(addresses).toEqual(['0000:0c:00.0', card, other]);
      expect(reports.at(-1)?.not_offered ?? []).toEqual([]);
    } finally {
      domains.remove();
    }
  });

  it('reports a new boot', async () => {
    const bootIdFile = join(directory, 'boot_id');
    const bootIds = [
      '6f4f1d67-52a6-4b63-9d1b-9b44b1a0d9b7',
      '0d3f8f4a-7f5e-4a51-b8a4-64c5a5b6b3a1',
    ];
    for (const bootId of bootIds) {
      writeFileSync(bootIdFile, `${bootId}\n`);
      const agent = anAgent({ CYBORG_AGENT_BOOT_ID_FILE: bootIdFile });
      await eventually(() => reports.at(-1)?.boot_id).toBe(bootId);
      await agent.stop();
    }
  });

  it('reports everything again when the broker comes back', async () => {
    anAgent();
    await eventually(addresses).toHaveLength(1);
    await broker.stop();
    controlPlane = aControlPlane();
    broker = await aBroker(broker.port);
    await eventually(addresses).toHaveLength(1);
  });

  it('reports nothing to a broker of another authority', async () => {
    await broker.stop();
    const ours = certificates;
    certificates = openCertificates(join(directory, 'other'));
    broker = await aBroker();
    certificates = ours;
    const agent = anAgent();
    await eventually(() => agent.output()).toContain('Not connected');
    expect(agent.output()).toContain('certificate');
    expect(reports).toEqual([]);
  });
});

describe('a killed agent', () => {
  it('leaves the control plane right when it dies between publish and acknowledgement', async () => {
    // Prepare: the broker has the report, and does not acknowledge it.
    let acknowledge = () => {};
    const held = new Promise<void>((resolve) => {
      acknowledge = resolve;
    });
    beforeAcknowledging = () => held;
    tree.addFunction({ address: card });
    const first = anAgent(pci);
    await eventually(() => reports.length).toBe(1);

    // Act: the host changes while no agent runs; the old report arrives last.
    await first.killHard();
    beforeAcknowledging = async () => {};
    tree.removeFunction(card).addFunction({ address: '0000:5e:00.0' });
    anAgent(pci);
    await eventually(addresses).toEqual(['0000:0c:00.0', '0000:5e:00.0']);
    acknowledge();
    await delay(50);

    // Assess
    expect(addresses()).toEqual(['0000:0c:00.0', '0000:5e:00.0']);
    expect(reports.at(-1)?.sequence).toBeGreaterThan(reports[0]?.sequence ?? Number.NaN);
  });

  const title = 'never uses a sequence number twice, whenever it dies, with its state or without';

  it(title, { tags: ['long'] }, async () => {
    // The kills fall around the first report, counted from the connection.
    const lifetimesMs = [0, 2, 5, 10, 20];
    for (const [round, lifetimeMs] of lifetimesMs.entries()) {
      tree.addFunction({ address: `0000:4${round}:00.0` });
      const agent = anAgent(pci);
      await eventually(() => agent.output()).toContain('Connected');
      await delay(lifetimeMs);
      await agent.killHard();
      if (round !== 2) continue;
      mkdirSync(join(directory, 'state'), { recursive: true });
      writeFileSync(join(directory, 'state/sequence.json'), '{"boot_');
    }
    anAgent(pci);
    await eventually(addresses).toHaveLength(1 + lifetimesMs.length);
    const sequences = reports.map(({ sequence }) => sequence);
    expect(sequences).toEqual([...new Set(sequences)].sort((a, b) => a - b));
    // Five agents, one after another, take seconds in which no other test runs.
  });
});
