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
  type CyborgRow,
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
          name: cyborgProviderName,
          node: cyborgHost,
          traits: ['CUSTOM_FAKE_DEVICE'],
          classes: ['FPGA'],
          consumers: instances,
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

describe('devices of Cyborg 17.0.0', () => {
  const planOfState = (state: string | null, servers = 0) =>
    planOf(aCyborg({ servers, state }), someFacts(servers));

  it.each([
    ['NVME', 'SSD'],
    ['PCI', 'GPU'],
    ['MDEV', 'GPU'],
  ])('are imported with type %s as %s, and the plan says so', (type, ours) => {
    const { rows, devices } = planOf(changed((dump) => (first(dump.devices).type = type)));
    expect(rowOf(rows, device)).toMatchObject({ verdict: 'import' });
    expect(rowOf(rows, device).note).toMatch(`${ours} (${type} in Cyborg), provider`);
    expect(first(devices).device.type).toBe(ours);
  });

  it.each(['available', 'allocated', null])(
    'in state %s are imported by their handles',
    (state) => {
      const { rows, devices, servers } = planOfState(state, 2);
      expect(rows.map(({ verdict }) => verdict)).toEqual(['import', 'import', 'import', 'import']);
      expect(first(devices).handles.map(({ quarantine }) => quarantine)).toEqual(
        Array.from({ length: 4 }, () => undefined),
      );
      expect(servers).toHaveLength(2);
    },
  );

  it.each([
    ['pending_cleaning', /its last server is gone, and its cleaning has not begun/],
    ['cleaning', /its cleaning has begun, and may not have ended/],
    ['error', /its cleaning failed/],
    ['rotting', /this command does not know that state/],
  ])('in state %s are withheld until they are clean', (state, meaning) => {
    const { rows, devices } = planOfState(state);
    expect(rowOf(rows, device)).toMatchObject({ verdict: 'import' });
    expect(rowOf(rows, device).note).toMatch(/withheld until it is clean, since it was in the/);
    expect(rowOf(rows, device).note).toMatch(meaning);
    const { handles } = first(devices);
    expect(handles).toHaveLength(4);
    for (const { quarantine, restoredAt } of handles) {
      expect(quarantine).toMatch(meaning);
      expect(restoredAt).toBe(now);
    }
  });

  it('are not imported with a server while Cyborg has them as not clean', () => {
    const { rows, servers } = planOfState('pending_cleaning', 1);
    expect(rowOf(rows, serverOf(1))).toMatchObject({ verdict: 'refuse' });
    expect(rowOf(rows, serverOf(1)).note).toMatch(/is Bound, but its device was in the state/);
    expect(servers).toEqual([]);
  });
});

describe('bad input is refused by name', () => {
  const inFirst = (table: keyof CyborgDump, cells: CyborgRow) => (dump: CyborgDump) =>
    void Object.assign(first(dump[table]), cells);
  const inDevice = (cells: CyborgRow) => inFirst('devices', cells);
  const inArq = (cells: CyborgRow) => inFirst('extended_accelerator_requests', cells);
  const inHandle = (cells: CyborgRow) => inFirst('attach_handles', cells);
  const inProfile = (profile_json: string) => inFirst('device_profiles', { profile_json });
  const ofClass = (value: string) => inFirst('attributes', { value });
  const providedBy = (rp_uuid: string | null) => inFirst('deployables', { rp_uuid });
  const withoutAddress = `${cyborgHost}/${'00000002-0000-4000-8000-000000000001'}`;
  const elsewhere = 'other/0000:0c:00.0';
  const server = serverOf(1);
  const anMdev = { attach_type: 'MDEV', attach_info: '{"asked_type": "nvidia-223"}' };
  const addDevice = (d: CyborgDump) =>
    d.devices.push({ ...first(d.devices), id: 2 }) &&
    d.controlpath_ids.push({ ...first(d.controlpath_ids), id: 2, device_id: 2 });

  it.each<[string, string, RegExp, (dump: CyborgDump) => void]>([
    ['an unknown type', device, /type DPU is none of GPU.* MDEV$/, inDevice({ type: 'DPU' })],
    ['no address', withoutAddress, /PCI address/, inFirst('controlpath_ids', { cpid_info: '{}' })],
    ['no provider', device, /no resource provider/, providedBy(null)],
    ['an unknown class', device, /resource class GPU/, ofClass('GPU')],
    ['another class', device, /Placement has FPGA at/, ofClass('PGPU')],
    ['an unknown provider', device, /Placement has no resource provider/, providedBy(serverOf(9))],
    ['an unknown host', elsewhere, /no compute node named other/, inDevice({ hostname: 'other' })],
    ['a second device there', device, /device 1 of Cyborg is there/, addDevice],
    ['an unbound ARQ', server, /is BindStarted, not Bound/, inArq({ state: 'BindStarted' })],
    ['an ARQ without a handle', server, /has no attach handle/, inArq({ attach_handle_id: null })],
    ['an ARQ with a lost handle', server, /does not exist/, inArq({ attach_handle_id: 99 })],
    ['a half-deleted ARQ', server, /half deleted/, inHandle({ in_use: 0 })],
    ['a handle with two ARQs', server, /that ARQ .* has, too/, inArq({ attach_handle_id: 2 })],
    ['another provider', server, /another resource/, inArq({ device_rp_uuid: serverOf(9) })],
    ['another host', server, /is bound to other/, inArq({ hostname: 'other' })],
    ['an unknown profile', server, /profile that does not/, inArq({ device_profile_id: 9 })],
    ['an unknown attach type', server, /unknown type CCW/, inHandle({ attach_type: 'CCW' })],
    ['an invalid handle', server, /invalid attach_info/, inHandle({ attach_info: '{"bus": 1}' })],
    ['an mdev of Cyborg', server, /mdev of type nvidia-223/, inHandle(anMdev)],
    ['a class', 'fpga', /class GPU/, inProfile('{"groups": [{"resources:GPU": "1"}]}')],
    ['groups that are not JSON', 'fpga', /not valid JSON/, inProfile('{')],
  ])('%s', (_, name, note, change) => {
    const { rows } = planOf(changed(change));
    const notes = rows.filter((row) => row.name === name && row.verdict === 'refuse');
    expect(notes.map((row) => row.note).join()).toMatch(note);
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
