import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { acknowledge, composeReport, nothingAcknowledged } from '#agent/report/compose-report.ts';
import type { Found } from '#agent/report/discover.ts';
import { computeDigest } from '#core/contracts/report/device-digest.ts';
import { aControlPlane, type ModelReport } from '#test/support/control-plane-model.ts';
import { aReportedDevice } from '#test/support/hosts/agent.ts';

/** Hosts with few addresses and few states of each device, so that changes meet. */
const host: fc.Arbitrary<Found> = fc
  .dictionary(
    fc.constantFrom('0000:01:00.0', '0000:02:00.0', '0000:03:00.0', '10000:e1:00.0'),
    fc.record({ model: fc.constantFrom('a', 'b'), handles: fc.constantFrom(0, 1, 600) }),
  )
  .map((states) => ({
    failedDrivers: [],
    notOffered: [],
    novaVersions: [],
    devices: Object.entries(states)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([address, { model, handles }]) => {
        const handle = { type: 'PCI' as const, info: { domain: address, bus: '00', device: '00' } };
        const attach_handles = Array.from({ length: handles }, () => handle);
        const offers = { resource_class: 'PGPU', traits: [], attach_handles };
        const device = aReportedDevice({ address, model, offers });
        return { device, digest: computeDigest(device) };
      }),
  }));

/** All reports of a session in which the host had these states, one discovery after the other. */
function reportsOf(looks: readonly Found[]): ModelReport[] {
  const reports: ModelReport[] = [];
  let known = nothingAcknowledged;
  for (const [minute, found] of looks.entries()) {
    const plan = composeReport(found, known, minute * 60_000);
    for (const [part, devices] of plan.parts.entries()) {
      reports.push({ sequence: reports.length, manifest: plan.manifest, devices });
      known = acknowledge(known, plan, part, minute * 60_000);
    }
  }
  return reports;
}

it('brings the control plane to the state of the host, whatever happened before', () => {
  fc.assert(
    fc.property(fc.array(host, { minLength: 1, maxLength: 6 }), (looks) => {
      const controlPlane = aControlPlane();
      for (const report of reportsOf(looks)) controlPlane.apply(report);
      expect(controlPlane.devices()).toEqual(looks.at(-1)?.devices.map(({ device }) => device));
      expect(controlPlane.wanted()).toEqual([]);
    }),
  );
});

it('brings it there in any order of the reports of one discovery, and with duplicates', () => {
  fc.assert(
    fc.property(host, fc.infiniteStream(fc.nat()), (found, random) => {
      const reports = reportsOf([found]);
      const controlPlane = aControlPlane();
      for (const report of shuffled([...reports, ...reports], random)) controlPlane.apply(report);
      expect(controlPlane.devices()).toEqual(found.devices.map(({ device }) => device));
    }),
  );
});

it('composes nothing about what was acknowledged', () => {
  fc.assert(
    fc.property(host, (found) => {
      expect(reportsOf([found, found, found])).toEqual(reportsOf([found]));
    }),
  );
});

function shuffled<T>(items: T[], random: Iterator<number>): T[] {
  return items
    .map((item) => ({ item, key: random.next().value as number }))
    .sort((a, b) => a.key - b.key)
    .map(({ item }) => item);
}
