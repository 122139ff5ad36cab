// The plan of an import, with every kind of bad input that a Cyborg can have.

import { describe, expect, it } from 'vitest';
import type { InstanceBinding } from '#core/domain/arq/arq.ts';
import { importedBindId } from '#core/domain/arq/imports.ts';
import { readTables } from '#operate/import/cyborg-tables.ts';
import { type CloudFacts, type PlanRow, planImport, unknownSkips } from '#operate/import/plan.ts';
import {
  aCyborg,
  arqOf,
  type CyborgDump,
  cyborgHost,
  cyborgProvider,
  cyborgProviderName,
  serverOf,
  xmlOf,
} from '#test/support/cyborg-tables.ts';

const now = '2026-07-01T00:00:00.000Z';
const device = `${cyborgHost}/0000:0c:00.0`;

type Facts = { -readonly [Key in keyof CloudFacts]: CloudFacts[Key] };

function someFacts(servers = 2): Facts {
  const instances = Array.from({ length: servers }, (_, index) => serverOf(index + 1));
  return {
    nodes: new Set([cyborgHost]),
    providers: new Map([
      [
        cyborgProvider,
        {
          ...{ name: cyborgProviderName, node: cyborgHost },
          ...{ traits: ['CUSTOM_FAKE_DEVICE'], classes: ['FPGA'], consumers: instances },
        },
      ],
    ]),
    servers: new Map(instances.map((each) => [each, { projectId: 'demo', host: 'compute' }])),
    stored: { profiles: [], devices: [], bindings: new Map() },
  };
}

function planOf(dump: CyborgDump, facts: CloudFacts = someFacts(), skipped: string[] = []) {
  return planImport(readTables(xmlOf(dump)), facts, new Set(skipped), now);
}

function changed(change: (dump: CyborgDump) => void): CyborgDump {
  const dump = aCyborg();
  change(dump);
  return dump;
}

const first = <T>(rows: readonly T[]): T => rows[0] as T;
const rowOf = (rows: readonly PlanRow[], name: string) =>
  rows.find((row) => row.name === name) as PlanRow;

describe('planning an import', () => {
  it('keeps uuids of profiles, ARQs and providers, and the handles in our form', () => {
    const { rows, profiles, devices, servers } = planOf(aCyborg());
    expect(rows.map(({ verdict }) => verdict)).toEqual(['import', 'import', 'import', 'import']);
    expect(first(profiles)).toMatchObject({ name: 'fpga', microversion: '2.0' });
    const { handles, device: planned } = first(devices);
    expect(planned).toMatchObject({ address: '0000:0c:00.0', providers: [cyborgProvider] });
    expect(planned.adopted).toEqual([
      { uuid: cyborgProvider, name: cyborgProviderName, traits: ['CUSTOM_FAKE_DEVICE'] },
    ]);
    expect(handles).toHaveLength(4);
    expect(handles.every(({ restoredAt }) => restoredAt === now)).toBe(true);
    expect(servers.map(({ instanceUuid, projectId }) => [instanceUuid, projectId])).toEqual([
      [serverOf(1), 'demo'],
      [serverOf(2), 'demo'],
    ]);
    const [arq] = first(servers).arqs;
    expect(arq).toMatchObject({ uuid: arqOf(1), groupId: 0, providerUuid: cyborgProvider });
    expect(handles.map(({ uuid }) => uuid)).toContain(arq?.attachment.handleUuid);
  });

  it('finds what an earlier attempt has stored', () => {
    const facts = someFacts();
    const binding = { bindId: importedBindId(serverOf(1)), hostname: cyborgHost };
    const planned = planOf(aCyborg());
    facts.stored = {
      profiles: planned.profiles,
      devices: planned.devices.map((each) => each.device),
      bindings: new Map([[serverOf(1), binding as InstanceBinding]]),
    };
    expect(planOf(aCyborg(), facts).rows.map(({ verdict }) => verdict)).toEqual([
      'present',
      'present',
      'present',
      'import',
    ]);
  });

  it('divides a device whose virtual functions are providers', () => {
    const second = 'c0000000-0000-3000-8000-000000000002';
    const dump = changed(({ deployables, attach_handles: handles, attributes }) => {
      const one = first(deployables);
      deployables.push({ ...one, id: 2, rp_uuid: second, name: 'compute_1_vf2' });
      attributes.push({ ...first(attributes), id: 9, deployable_id: 2 });
      handles.splice(2);
      for (const [index, handle] of handles.entries()) {
        handle.attach_type = 'PCI';
        handle.deployable_id = index + 1;
      }
      Object.assign(first(handles), {
        attach_info: '{"domain": "0000", "bus": "0C", "device": "01", "function": "0"}',
      });
    });
    first(dump.extended_accelerator_requests.slice(1)).device_rp_uuid = second;
    const facts = someFacts();
    const provider = facts.providers.get(cyborgProvider);
    if (!provider) throw new Error('no provider');
    facts.providers = new Map([
      ...facts.providers,
      [second, { ...provider, name: 'compute_1_vf2' }],
    ]);
    const { devices, servers, rows } = planOf(dump, facts);
    expect(rows.map(({ verdict }) => verdict)).not.toContain('refuse');
    expect(first(devices).device.adopted?.map(({ uuid, address }) => [uuid, address])).toEqual([
      [cyborgProvider, '0000:0c:01.0'],
      [second, '0000:0c:00.2'],
    ]);
    expect(servers).toHaveLength(2);
  });
});

describe('bad input is refused by name', () => {
  const arqs = 'extended_accelerator_requests';
  it.each<[string, (dump: CyborgDump) => void, string, RegExp]>([
    ['an unknown type', (d) => (first(d.devices).type = 'DPU'), device, /type DPU is none of GPU/],
    [
      'no PCI address',
      (d) => (first(d.controlpath_ids).cpid_info = '{}'),
      `${cyborgHost}/${'00000002-0000-4000-8000-000000000001'}`,
      /PCI address/,
    ],
    ['no provider', (d) => (first(d.deployables).rp_uuid = null), device, /no resource provider/],
    ['an unknown class', (d) => (first(d.attributes).value = 'GPU'), device, /resource class GPU/],
    ['another class', (d) => (first(d.attributes).value = 'PGPU'), device, /Placement has FPGA at/],
    [
      'an unknown provider',
      (d) => (first(d.deployables).rp_uuid = serverOf(9)),
      device,
      /Placement has no resource provider/,
    ],
    [
      'an unknown host',
      (d) => (first(d.devices).hostname = 'other'),
      'other/0000:0c:00.0',
      /no compute node named other/,
    ],
    [
      'a second device there',
      (d) =>
        d.devices.push({ ...first(d.devices), id: 2 }) &&
        d.controlpath_ids.push({ ...first(d.controlpath_ids), id: 2, device_id: 2 }),
      device,
      /device 1 of Cyborg is there/,
    ],
    [
      'an ARQ that is not bound',
      (d) => (first(d[arqs]).state = 'BindStarted'),
      serverOf(1),
      /is BindStarted, not Bound/,
    ],
    [
      'an ARQ without a handle',
      (d) => (first(d[arqs]).attach_handle_id = null),
      serverOf(1),
      /has no attach handle/,
    ],
    [
      'an ARQ with a lost handle',
      (d) => (first(d[arqs]).attach_handle_id = 99),
      serverOf(1),
      /does not exist/,
    ],
    [
      'a half-deleted ARQ',
      (d) => (first(d.attach_handles).in_use = 0),
      serverOf(1),
      /half deleted/,
    ],
    [
      'a handle with two ARQs',
      (d) => (first(d[arqs]).attach_handle_id = 2),
      serverOf(1),
      /that ARQ .* has, too/,
    ],
    [
      'another provider',
      (d) => (first(d[arqs]).device_rp_uuid = serverOf(9)),
      serverOf(1),
      /another resource provider/,
    ],
    ['another host', (d) => (first(d[arqs]).hostname = 'other'), serverOf(1), /is bound to other/],
    [
      'an unknown profile',
      (d) => (first(d[arqs]).device_profile_id = 9),
      serverOf(1),
      /profile that does not exist/,
    ],
    [
      'an unknown attach type',
      (d) => (first(d.attach_handles).attach_type = 'CCW'),
      serverOf(1),
      /unknown type CCW/,
    ],
    [
      'an invalid handle',
      (d) => (first(d.attach_handles).attach_info = '{"bus": 1}'),
      serverOf(1),
      /invalid attach_info/,
    ],
    [
      'an mdev of Cyborg',
      (d) =>
        Object.assign(first(d.attach_handles), {
          attach_type: 'MDEV',
          attach_info: '{"asked_type": "nvidia-223"}',
        }),
      serverOf(1),
      /mdev of type nvidia-223/,
    ],
    [
      'an invalid profile',
      (d) => (first(d.device_profiles).profile_json = '{"groups": [{"resources:GPU": "1"}]}'),
      'fpga',
      /resource class GPU/,
    ],
    [
      'groups that are no JSON',
      (d) => (first(d.device_profiles).profile_json = '{'),
      'fpga',
      /not valid JSON/,
    ],
  ])('%s', (_, change, name, note) => {
    const found = planOf(changed(change)).rows.filter(
      (row) => row.name === name && row.verdict === 'refuse',
    );
    expect(found.map((row) => row.note).join()).toMatch(note);
  });

  it('a server without an allocation', () => {
    const facts = someFacts();
    const provider = facts.providers.get(cyborgProvider);
    if (provider) facts.providers = new Map([[cyborgProvider, { ...provider, consumers: [] }]]);
    const { rows } = planOf(aCyborg(), facts);
    expect(rowOf(rows, serverOf(1))).toMatchObject({ verdict: 'refuse' });
  });

  it('a device that our agent reports already', () => {
    const facts = someFacts();
    const reported = { ...first(planOf(aCyborg()).devices).device };
    const { adopted: _adopted, ...own } = reported;
    facts.stored = { ...facts.stored, devices: [own] };
    const { rows } = planOf(aCyborg(), facts);
    expect(rowOf(rows, device).note).toMatch(/an agent of this service reports it already/);
  });

  it('a profile that differs from the one here', () => {
    const facts = someFacts();
    const profile = first(planOf(aCyborg()).profiles);
    facts.stored = { ...facts.stored, profiles: [{ ...profile, groups: [] }] };
    expect(rowOf(planOf(aCyborg(), facts).rows, 'fpga')).toMatchObject({ verdict: 'refuse' });
  });
});

describe('what is left out', () => {
  it('are servers that Nova no longer has, or has on no host', () => {
    const facts = someFacts();
    facts.servers = new Map([[serverOf(2), { projectId: 'demo', host: null }]]);
    const { rows, servers, devices } = planOf(aCyborg(), facts);
    expect(rowOf(rows, serverOf(1))).toMatchObject({ verdict: 'skip' });
    expect(rowOf(rows, serverOf(2))).toMatchObject({ verdict: 'skip' });
    expect(servers).toEqual([]);
    expect(first(devices).handles).toHaveLength(4);
  });

  it('are ARQs of no server', () => {
    const dump = changed((each) => {
      const arq = first(each.extended_accelerator_requests);
      Object.assign(arq, { state: 'Unbound', instance_uuid: null });
    });
    const { rows } = planOf(dump);
    expect(rowOf(rows, arqOf(1))).toMatchObject({ verdict: 'skip' });
    expect(rowOf(rows, arqOf(1)).note).toMatch(/half deleted/);
  });

  it('is what an operator skips by its name', () => {
    const dump = changed((each) => {
      first(each.extended_accelerator_requests).attach_handle_id = null;
    });
    const plan = planOf(dump, someFacts(), [serverOf(1), 'unknown']);
    expect(rowOf(plan.rows, serverOf(1))).toMatchObject({ verdict: 'skip' });
    expect(plan.servers).toHaveLength(1);
    expect(unknownSkips(plan, new Set([serverOf(1), 'unknown']))).toEqual(['unknown']);
  });

  it('is never a device that servers use', () => {
    const dump = changed((each) => {
      first(each.devices).type = 'DPU';
    });
    const { rows } = planOf(dump, someFacts(), [device]);
    expect(rowOf(rows, device)).toMatchObject({ verdict: 'refuse' });
  });
});
