import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Firmware, Incident, UsageRow } from '#console/api/answers.ts';
import { ApiFailure } from '#console/api/failure.ts';
import { capacitySum } from '#console/capacity/capacity-sum.ts';
import { firmwareRows } from '#console/devices/firmware-rows.ts';
import { recordGroups } from '#console/devices/record-text.ts';
import { incidentAction } from '#console/incidents/incident-action.ts';
import { checkDraft, emptyDraft, toDraft, toRequest } from '#console/profiles/draft.ts';
import { Connection } from '#console/session/connection.ts';
import { usageCsv } from '#console/usage/csv.ts';
import { otherSeries, seriesMax, usageChart } from '#console/usage/series.ts';
import type { Device } from '#core/domain/device/device.ts';
import {
  awayIncident,
  conflictIncident,
  driftIncident,
  type Incident as Stored,
} from '#core/domain/history/incidents.ts';
import { workIncident } from '#core/domain/history/work-incidents.ts';
import { viewIncident } from '#functions/operator/view.ts';
import { anIncident, aRecord } from './answers.ts';

const time = '2026-11-23T01:00:00+00:00';

describe('the action of an incident', () => {
  const device = 'a1a8698a-bef9-50dd-afa1-c5e8814ac6db' as Device['uuid'];
  const work = {
    kind: 'release',
    hostname: 'cmp1',
    handles: ['h'],
    startedAt: time,
    quarantine: 'The host did not confirm the cleaning.',
  } as unknown as Parameters<typeof workIncident>[0];
  const found = { provider: 'p', stored: '1 FPGA', placement: '', host: '' };
  const view = (incident: Stored | undefined) => {
    if (!incident) throw new Error('There is no incident.');
    return viewIncident(incident) as Incident;
  };

  const host = '/operator/v1/hosts/cmp1';
  const reason = 'checked by an operator';

  it.each([
    [
      view(workIncident(work, device, 0, 0)),
      'Force release',
      { method: 'POST', path: `/v2/devices/${device}/force_release`, body: { reason } },
    ],
    [
      anIncident({ kind: 'awaits-power-cycle', action: 'force-release', device_uuid: device }),
      'Give up the program',
      {
        method: 'POST',
        path: `/v2/devices/${device}/force_release`,
        body: { reason: 'the program is given up' },
      },
    ],
    [view(awayIncident('cmp1', time)), 'Forget', { method: 'DELETE', path: host }],
    [
      anIncident({ action: 'rediscover' }),
      'Rediscover',
      { method: 'POST', path: `${host}/rediscover` },
    ],
    [
      view(driftIncident('cmp1', found)),
      'Reconcile',
      {
        method: 'POST',
        path: '/operator/v1/reconcile',
        body: { host: 'cmp1', dry_run: false },
      },
    ],
  ])('$kind: its request needs no input', (incident, verb, request) => {
    const action = incidentAction(incident);
    const typed = { reason: 'typed', until: time, isCleaned: true };
    expect(action?.verb).toBe(verb);
    expect(action?.request(typed)).toEqual(request);
    expect(action?.fields).toEqual([]);
  });

  it('is absent where an operator has to choose, and where no request ends the incident', () => {
    expect(incidentAction(view(conflictIncident('cmp1', time)))).toBeUndefined();
    expect(incidentAction(anIncident({}))).toBeUndefined();
  });
});

it('records that differ in the attach handle only are one line; those of servers are not', () => {
  const handle = (id: string, at = '2026-11-23T01:00:00.001Z') =>
    ({ ...aRecord, id, at, kind: 'handle.added', attach_handle_uuid: `handle-${id}` }) as const;
  const ofServer = (id: string) => ({ ...handle(id), instance_uuid: 'server' });
  const records = [
    ...[
      handle('1'),
      handle('2', '2026-11-23T01:00:00.900Z'),
      handle('3', '2026-11-23T00:59:00.000Z'),
    ],
    ...[ofServer('4'), ofServer('5'), { ...handle('6'), device_uuid: 'other' }, handle('7')],
  ];
  const groups = recordGroups(records).map(({ first, count }) => [first.id, count]);
  expect(groups).toEqual([
    ['1', 3],
    ['3', 1],
    ['4', 1],
    ['5', 1],
    ['6', 1],
  ]);
});

const usageRow = fc.record({
  project_id: fc.constantFrom(...'abcdefghij'),
  resource_class: fc.constantFrom('FPGA', 'VGPU'),
  day: fc.constantFrom('2026-11-01', '2026-11-02', '2026-11-03'),
  accelerator_seconds: fc.integer({ min: 0, max: 1_000_000 }),
});
const range = { from: '2026-11-01T00:00:00.000Z', to: '2026-11-03T12:00:00.000Z' };

describe('the chart of the usage', () => {
  it('has each second once, in a few series, however many projects there are', () => {
    fc.assert(
      fc.property(fc.array(usageRow), fc.constantFrom('project', 'class'), (rows, by) => {
        const { days, series } = usageChart(rows, by as 'project' | 'class', range);
        const hours = series.flatMap((each) => each.hours).reduce((sum, each) => sum + each, 0);
        const seconds = rows.reduce((sum, row) => sum + row.accelerator_seconds, 0);
        expect(hours * 3600).toBeCloseTo(seconds, 3);
        expect(series.length).toBeLessThanOrEqual(seriesMax);
        expect(days).toEqual(['2026-11-01', '2026-11-02', '2026-11-03']);
      }),
    );
  });

  it('has the largest first and the rest together', () => {
    const rows = [...'abcdefghij'].map((project_id, index): UsageRow => {
      const seconds = (10 - index) * 3600;
      return {
        project_id,
        resource_class: 'FPGA',
        day: '2026-11-02',
        accelerator_seconds: seconds,
      };
    });
    const { series } = usageChart(rows, 'project', range);
    expect(series.map(({ name }) => name)).toEqual([...'abcdef', otherSeries]);
    expect(series.at(-1)).toEqual({ name: otherSeries, hours: [0, 10, 0], total: 10 });
  });
});

it('CSV has a line for each row, and no text that a spreadsheet would calculate', () => {
  const row = { resource_class: 'FPGA', day: '2026-11-01', accelerator_seconds: 1.5 };
  const rows = [
    { ...row, project_id: 'plain' },
    { ...row, project_id: '=cmd()' },
    { ...row, project_id: 'with "quotes", and commas' },
  ];
  expect(usageCsv(rows).split('\r\n')).toEqual([
    'day,project_id,resource_class,accelerator_seconds',
    '2026-11-01,plain,FPGA,1.5',
    "2026-11-01,'=cmd(),FPGA,1.5",
    '2026-11-01,"with ""quotes"", and commas",FPGA,1.5',
    '',
  ]);
});

it('the capacity of hosts is their sum, the most frequent reason first', () => {
  const sum = capacitySum([
    { hostname: 'cmp1', fits: 3, stopped_by: [{ reason: 'claimed', count: 1 }] },
    {
      hostname: 'cmp2',
      fits: 1,
      stopped_by: [
        { reason: 'disabled', count: 3 },
        { reason: 'claimed', count: 1 },
      ],
    },
  ]);
  expect(sum).toEqual({
    fits: 4,
    stoppedBy: [
      { reason: 'disabled', count: 3 },
      { reason: 'claimed', count: 2 },
    ],
  });
});

describe('a profile while it is typed', () => {
  const resource = { kind: 'resources', name: 'FPGA', value: '1' } as const;
  const draft = { name: 'fpga', description: '', groups: [[resource]] };

  it('is the request of the API', () => {
    const trait = { kind: 'trait', name: ' CUSTOM_A ', value: 'required' } as const;
    const given = { name: 'a', description: ' For tests. ', groups: [[resource, trait]] };
    expect(checkDraft(given)).toEqual({});
    expect(toRequest(given)).toEqual({
      name: 'a',
      description: 'For tests.',
      groups: [{ 'resources:FPGA': '1', 'trait:CUSTOM_A': 'required' }],
    });
  });

  it('that is stored is edited as it is', () => {
    const stored = {
      uuid: 'a',
      name: 'fpga',
      description: null,
      projects: null,
      revision: 1,
      groups: [{ 'resources:FPGA': '1', 'accel:function_name': 'a.b' }],
    };
    expect(toRequest(toDraft(stored))).toEqual({ name: 'fpga', groups: stored.groups });
  });

  it.each([
    ['name', { ...draft, name: '' }, 'needs a name'],
    ['name', { ...draft, name: 'a b' }, "letters, digits, '-' and '_'"],
    ['description', { ...draft, description: 'x'.repeat(1025) }, '1024'],
    ['groups', emptyDraft, 'groups[0]'],
    ['groups', { ...draft, groups: [[{ ...resource, value: '0' }]] }, 'positive integer'],
    ['groups', { ...draft, groups: [[resource, resource]] }, 'duplicate key resources:FPGA'],
    ['groups', { ...draft, groups: [[{ ...resource, value: '33' }]] }, 'may ask for 32'],
    [
      'groups',
      { ...draft, groups: [[resource, { kind: 'accel', name: 'x'.repeat(300), value: 'a' }]] },
      'accel keys are',
    ],
  ] as const)('tells what is wrong with its %s (%j)', (field, given, sentence) => {
    expect(checkDraft(given)[field]).toContain(sentence);
  });
});

describe('the connection', () => {
  const gone = new ApiFailure('unreachable', 'The API cannot be reached.');

  it('is lost from the first failure on, and until something works', () => {
    const connection = new Connection();
    let changes = 0;
    connection.onChange(() => {
      changes += 1;
    });
    connection.worked();
    expect(changes).toBe(0);
    connection.failed(gone, 1000);
    connection.failed(gone, 2000);
    expect(connection.outage).toMatchObject({ sinceMs: 1000, sentence: gone.message });
    connection.worked();
    expect(connection.outage).toBeUndefined();
    expect(changes).toBe(3);
  });

  it('names the earliest next try', () => {
    const connection = new Connection();
    connection.retryAt(1, 0);
    expect(connection.outage).toBeUndefined();
    connection.failed(gone, 0);
    connection.retryAt(8000, 0);
    connection.retryAt(2000, 0);
    connection.retryAt(4000, 0);
    expect(connection.outage?.retryAtMs).toBe(2000);
    connection.retryAt(9000, 2000);
    expect(connection.outage?.retryAtMs).toBe(9000);
  });

  it('is not lost by a refusal', () => {
    const connection = new Connection();
    connection.failed(new ApiFailure('forbidden', 'no'), 0);
    expect(connection.outage).toBeUndefined();
  });

  it('has all readings begin at once when the user asks for it', () => {
    const connection = new Connection();
    let readings = 0;
    const end = connection.onRetry(() => {
      readings += 1;
    });
    connection.retryNow();
    end();
    connection.retryNow();
    expect(readings).toBe(1);
  });
});

describe('the components of a device', () => {
  const program: Firmware['programs'][number] = {
    what: 'bmc',
    image_uuid: 'i',
    version: '2.0',
    state: 'failed',
    reason: 'write: EIO',
    percent: null,
    evidence: null,
    requested_by: 'u',
    requested_at: time,
  };
  const component = { version: '1.0', date: null, digest: null };
  const firmware: Firmware = {
    device_uuid: 'd',
    hostname: 'cmp1',
    model: '8086:0b30',
    status: 'enabled',
    health: null,
    components: [
      { name: 'bmc', ...component, baseline: '2.0' },
      { name: 'shell', ...component, baseline: '1.0' },
      { name: 'vbios', ...component, baseline: null },
    ],
    programs: [program],
    shell_deployable_uuid: null,
  };

  it('have their program, and the baseline that they differ from', () => {
    const rows = firmwareRows(firmware);
    expect(rows.map(({ component, differsFrom }) => [component, differsFrom])).toEqual([
      ['bmc', '2.0'],
      ['shell', undefined],
      ['vbios', undefined],
    ]);
    expect(rows.map((row) => row.program?.state)).toEqual(['failed', undefined, undefined]);
  });
});
