// Every declared field comes through: from the report by the facts, the plan and the row to the
// answer. The values are made from the schemas, so that a new field is in them.

import { UpdateCommand, type UpdateCommandInput } from '@aws-sdk/lib-dynamodb';
import { marshall, unmarshall } from '@aws-sdk/util-dynamodb';
import { mockClient } from 'aws-sdk-client-mock';
import { describe, expect, it } from 'vitest';
import type * as z from 'zod';
import { reportedDevice } from '#core/contracts/report/inventory-report.ts';
import { attributesOf } from '#core/domain/device/attribute.ts';
import { planDevice } from '#core/domain/report/device-plan.ts';
import { hostAfter } from '#core/operations/inventory/host-after.ts';
import { arqBinding, arqFields, instanceBinding } from '#core/shapes/arq.ts';
import { handleCare, handleFacts, handleState } from '#core/shapes/attach-handle.ts';
import {
  describedDeployable,
  offeringFacts,
  regionFacts,
  reportedRegionFacts,
} from '#core/shapes/deployable.ts';
import { camelCase, fromWire, pick, toWire } from '#core/shapes/derive/case.ts';
import { pciAddress } from '#core/shapes/derive/fields.ts';
import {
  attributeFacts,
  describedDevice,
  deviceFacts,
  deviceState,
  operatorFacts,
  reportedFacts,
} from '#core/shapes/device.ts';
import { profileFields } from '#core/shapes/device-profile.ts';
import { historyRecord } from '#core/shapes/history-record.ts';
import { hostFacts, hostSummary, reportedHost } from '#core/shapes/host.ts';
import { awaitedWork, jobNote } from '#core/shapes/host-work.ts';
import { quota } from '#core/shapes/quota.ts';
import { toSummary } from '#core/store/hosts/host-summaries.ts';
import { hostStore } from '#core/store/hosts/hosts.ts';
import { arqRow, instanceRow, toArq, toInstance } from '#core/store/rows/arq-rows.ts';
import { handleRow, toHandle } from '#core/store/rows/handle-rows.ts';
import { historyRow, toRecord } from '#core/store/rows/history-rows.ts';
import { toHost } from '#core/store/rows/host-rows.ts';
import { jobRow, toJob, toProgram, toRelease, workRow } from '#core/store/rows/host-work-rows.ts';
import {
  deployableRow,
  deviceRow,
  toDeployable,
  toDevice,
} from '#core/store/rows/inventory-rows.ts';
import { profileRow, toProfile } from '#core/store/rows/profile-rows.ts';
import { quotaRow, toQuota } from '#core/store/rows/quota-rows.ts';
import type { Row } from '#core/store/rows/rows.ts';
import { createDocuments } from '#core/store/table/documents.ts';
import { viewDeployable } from '#functions/deployables/view.ts';
import { viewDevice } from '#functions/devices/view.ts';
import { viewRecord } from '#functions/operator/history/view-record.ts';
import { viewHost, viewHostDetail } from '#functions/operator/view.ts';
import { aDeployable } from '#test/support/builders.ts';
import { aHandle, aReport, discovered } from '#test/support/reports.ts';
import { sampleOf } from '#test/support/schema-sample.ts';

const at = '2026-07-01T01:02:03.000Z';
const now = Date.parse(at);

/** Its attributes are in snake_case at every level, except keys that are addresses. */
function stored(row: Row): Row {
  const names = namesIn(row).filter((name) => !pciAddress.safeParse(name).success);
  expect(names.filter((name) => !/^[a-z0-9_]+$/.test(name))).toEqual([]);
  return unmarshall(marshall(row, { removeUndefinedValues: true }));
}

function namesIn(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(namesIn);
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]) => [name, ...namesIn(inner)]);
}

const shaped = <Schema extends z.ZodObject>(schema: Schema) => fromWire(schema, sampleOf(schema));

function withEvery(value: object, { shape }: z.ZodObject, name = (field: string) => field): void {
  for (const field of Object.keys(shape)) {
    expect(value, field).toHaveProperty([name(field)], expect.anything());
  }
}

const sample = sampleOf(reportedDevice);
const offering = (index: number) => ({
  ...sampleOf(offeringFacts),
  attach_handles: [{ ...sampleOf(handleFacts), ...aHandle(index, 'PCI') }],
});
const report = reportedDevice.parse({
  ...sample,
  offers: offering(1),
  regions: sample.regions.map((region) => ({ ...region, ...offering(2) })),
});
const plan = planDevice('cmp1', undefined, discovered(report), at);

const nothing = { put: [], retire: [], wanted: {}, unseen: [], refused: {} };

describe('every declared field', () => {
  it('of a device is in the row and in the answers', () => {
    const device = toDevice(stored(deviceRow(plan.device)));
    expect(device).toEqual(plan.device);
    withEvery(device, reportedFacts, camelCase);
    withEvery(viewDevice(device, '', true), deviceFacts);
    const inventory = { host: toHost('cmp1'), devices: [device], notOffered: [], waiting: [] };
    const [shown] = viewHostDetail(inventory, [], undefined, now).devices;
    withEvery(shown ?? {}, operatorFacts);
    const [deployable] = plan.deployables;
    const attributes = deployable ? attributesOf(deployable) : [];
    withEvery(Object.fromEntries(attributes.map(({ key, value }) => [key, value])), attributeFacts);
  });

  it('of a device stays when its host describes it again', () => {
    const before = { ...shaped(describedDevice), ...shaped(deviceState) };
    const providers = plan.deployables.map((deployable) => ({ deployable, handles: [] }));
    const again = planDevice('cmp1', { device: before, providers }, discovered(report), at);
    withEvery(again.device, reportedFacts, camelCase);
    const written = { ...deviceRow(before), ...toWire(deviceState, before) };
    expect(toDevice(stored(written))).toEqual(before);
  });

  it('of a region is in the row and in the answer of its deployable', () => {
    const [, deployable = aDeployable()] = plan.deployables;
    const read = toDeployable(stored(deployableRow(deployable)));
    expect(read).toEqual(deployable);
    withEvery(read, reportedRegionFacts, camelCase);
    withEvery(viewDeployable(read, '', true), regionFacts);
    const whole = shaped(describedDeployable);
    const row = deployableRow({ ...whole, deviceStatus: 'enabled' });
    expect(toDeployable(stored(row))).toEqual({ ...whole, deviceStatus: 'enabled' });
  });

  it('of an attach handle is in its row, and in that of the ARQ that has it', () => {
    const handles = plan.addHandles.map((handle) => ({ ...handle, ...shaped(handleState) }));
    expect(handles.map((handle) => toHandle(stored(handleRow(handle))))).toEqual(handles);
    for (const handle of handles) {
      withEvery(handle, handleFacts, camelCase);
      const attachment = { handleUuid: handle.uuid, ...pick(handleFacts, handle) };
      const binding = { ...shaped(arqBinding), attachment };
      const arq = { ...shaped(arqFields), deviceProfileName: 'p', group: {}, binding };
      expect(toArq(stored(arqRow(arq)))).toEqual(arq);
    }
  });

  it.each(Object.keys(handleCare.shape))('%s of an attach handle is compared', (name) => {
    const others = plan.addHandles.map((handle) => ({ ...handle, [camelCase(name)]: undefined }));
    const providers = plan.deployables.map((deployable) => ({
      deployable,
      handles: others.filter((each) => each.providerUuid === deployable.providerUuid),
    }));
    const again = planDevice('cmp1', { ...plan, providers }, discovered(report), at);
    expect(again.changeHandles).toEqual(plan.addHandles);
  });

  it('of a host is in the row that a report writes, and in the answer', async () => {
    const clients = createDocuments({ region: 'us-east-1' });
    const dynamoDb = mockClient(clients.strong);
    const host = { ...toHost('cmp1'), ...shaped(reportedHost) };
    const applied = hostAfter(
      { clock: () => now, settings: { attachTypes: undefined } },
      toHost('cmp1'),
      { ...nothing, standing: 'newer', isNewBoot: false },
      aReport([], sampleOf(hostFacts)),
      now,
    );
    for (const each of [host, applied]) {
      await hostStore(clients.strong, 'inventory').putReport(each, 'holder');
    }
    const rows = dynamoDb.commandCalls(UpdateCommand).map(({ args: [{ input }] }) => rowOf(input));
    const [written = {}, afterReport = {}] = rows.map((row) => toHost('cmp1', stored(row)));
    withEvery(written, reportedHost, camelCase);
    withEvery(afterReport, hostFacts, camelCase);
    withEvery(
      viewHost(toHost('cmp1', stored(rows[1] ?? {})), {}, { devices: 0, notOffered: 0 }, now),
      hostFacts,
    );
    dynamoDb.restore();
    clients.close();
  });
});

const profile = { ...shaped(profileFields), groups: [{ 'resources:FPGA': '1' }] };
const limits = { projectId: 'p', ...shaped(quota) };
const record = { ...shaped(historyRecord), at };
const binding = shaped(instanceBinding);
const note = shaped(jobNote);
const release = { kind: 'release', ...shaped(awaitedWork.release) } as const;
const program = { kind: 'program', ...shaped(awaitedWork.program) } as const;
const day = { subject: 'day', key: '2026-07-01#1' } as const;
const summary = shaped(hostSummary);

it.each<[string, object, Row, (row: Row) => object]>([
  ['a device profile', profile, profileRow(profile), toProfile],
  ['a quota', limits, quotaRow(limits, at), toQuota],
  ['a record', record, historyRow(record, day, 30), (row) => toRecord(row, day)],
  ['a binding', binding, instanceRow(binding), toInstance],
  ['a job', note, jobRow('j', note), toJob],
  ['a release', release, workRow(release, at), toRelease],
  ['a program', program, workRow(program, at), toProgram],
  ['the summary of a host', summary, toWire(hostSummary, summary), toSummary],
])('each declared field of %s is in its row', (_noun, value, row, read) => {
  expect(read(stored(row))).toEqual(value);
});

it('each declared field of a record is in the answer', () => {
  const values = Object.values(viewRecord(record));
  expect(values).not.toContain(null);
  expect(values).not.toContain(undefined);
});

/** The row as an update writes it. */
function rowOf({
  ExpressionAttributeNames: names,
  ExpressionAttributeValues: values,
}: UpdateCommandInput): Row {
  const fields = Object.entries(names ?? {});
  return Object.fromEntries(
    fields.map(([placeholder, name]) => [name, values?.[placeholder.replace('#', ':')]]),
  );
}
