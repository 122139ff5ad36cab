import { describe, expect, it } from 'vitest';
import { createFakeDriver } from '#agent/drivers/fake.ts';
import { readJob } from '#agent/read-job.ts';
import { digestOf } from '#core/contracts/device-digest.ts';
import { fromFirstForm, toFirstForm } from '#core/contracts/first-form.ts';
import {
  acceptReport,
  discoveredDevice,
  receivedReport,
} from '#core/contracts/inventory-report.ts';
import { jobDocument } from '#core/contracts/job-document.ts';
import { recorded } from '#test/support/recorded.ts';

const recipient = { thing: 'prod:cmp1', bootId: '6f4f1d67-52a6-4b63-9d1b-9b44b1a0d9b7' };
const withSteps = recorded.jobs.filter(({ steps }) => steps !== undefined);

describe('a job of a cloud of 0.1', () => {
  it('is read by the agent, with steps that name no driver', () => {
    const read = recorded.jobs.map((document) => readJob(document, recipient));
    expect(read.filter((each) => 'refused' in each)).toEqual([]);
    const steps = read.flatMap((each) => ('job' in each ? each.job.steps : []));
    expect(steps.map(({ kind }) => kind)).toEqual([
      ...['prepare', 'prepare', 'prepare', 'clean', 'clean', 'prepare'],
    ]);
    expect(steps.some(({ driver }) => driver !== undefined)).toBe(false);
    expect(steps[1]).toMatchObject({ handle: { type: 'MDEV', info: { asked_type: 'fake-1' } } });
    expect(steps[4]).not.toHaveProperty('handle');
  });

  it.each(withSteps)('with the action $action is the same after both conversions', (document) => {
    expect(toFirstForm(jobDocument.parse(fromFirstForm(document)))).toEqual(document);
  });

  it('is refused if its steps are in no form', () => {
    const steps = [{ kind: 'create-mdev', address: '../../etc', uuid: 'x', type: '..' }];
    const refused = readJob({ ...withSteps[0], steps }, recipient);
    expect(refused).toEqual({ refused: expect.stringContaining('malformed') });
  });
});

describe('a report of an agent of 0.1', () => {
  const accepted = acceptReport('cmp1', receivedReport.parse(recorded.report));
  const devices = accepted.devices.map((device) => discoveredDevice(device, accepted));

  it('is accepted, with the digests that it names', () => {
    expect(accepted.refused).toEqual({});
    expect(Object.fromEntries(devices.map(({ address, digest }) => [address, digest]))).toEqual(
      recorded.report.manifest,
    );
  });

  it('has mdevs that are made at binds and removed after them', () => {
    const gpu = devices.find(({ driver }) => driver === 'fake_gpu');
    expect(gpu?.regions[0]?.attachHandles[0]).toMatchObject({
      prepare: 'at-bind',
      cleanSeconds: 300,
    });
  });
});

describe('a report of this agent', () => {
  it('has the digest of 0.1 for a device that has only fields of 0.1', async () => {
    const { devices } = await createFakeDriver().discover();
    for (const [address, device] of Object.entries(devices)) {
      expect(digestOf(device)).toBe(recorded.report.manifest[address]);
    }
  });

  it('keeps a device with fields that this cloud does not know', () => {
    const [device, ...others] = recorded.report.devices;
    const later = { ...device, later: { than: 'this' } };
    const report = { ...recorded.report, form: 3, later: 1, devices: [later, ...others] };
    const accepted = acceptReport('cmp1', receivedReport.parse(report));
    expect(accepted.refused).toEqual({});
    expect(accepted.devices).toHaveLength(recorded.report.devices.length);
  });
});
