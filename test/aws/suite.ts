// Which test files run against an endpoint of AWS's services, and what each needs: the one place
// that says which files a missing service costs.

/** `s3-signatures`: S3 checks them, which tests of signed URLs ask for. */
export const services = [
  'dynamodb',
  'dynamodb-streams',
  'sqs',
  's3',
  's3-signatures',
  'iot',
] as const;
export type Service = (typeof services)[number];

export interface SuiteFile {
  readonly file: string;
  readonly needs: readonly Service[];
}

/** No file can run without these: each makes tables and queues. */
const everywhere = ['dynamodb', 'sqs'] as const;
const withStreams = [...everywhere, 'dynamodb-streams'] as const;

export const suite: readonly SuiteFile[] = [
  { file: 'test/integration/alternatives.test.ts', needs: withStreams },
  { file: 'test/integration/attach-types.test.ts', needs: everywhere },
  { file: 'test/integration/boot-flow.test.ts', needs: everywhere },
  { file: 'test/integration/capacity.test.ts', needs: everywhere },
  { file: 'test/integration/cleaning-by-device.test.ts', needs: everywhere },
  { file: 'test/integration/cleaning-turns.test.ts', needs: everywhere },
  { file: 'test/integration/checks-by-message.test.ts', needs: [...everywhere, 's3'] },
  { file: 'test/integration/component-power-cycles.test.ts', needs: [...everywhere, 's3'] },
  { file: 'test/integration/component-programs-killed.test.ts', needs: [...everywhere, 's3'] },
  { file: 'test/integration/component-programs.test.ts', needs: [...everywhere, 's3'] },
  { file: 'test/integration/concurrency.test.ts', needs: everywhere },
  { file: 'test/integration/conflicting-providers.test.ts', needs: everywhere },
  { file: 'test/integration/delete-races.test.ts', needs: everywhere },
  { file: 'test/integration/device-facts.test.ts', needs: withStreams },
  { file: 'test/integration/device-holds.test.ts', needs: everywhere },
  { file: 'test/integration/device-listings.test.ts', needs: everywhere },
  { file: 'test/integration/device-status.test.ts', needs: withStreams },
  { file: 'test/integration/drains.test.ts', needs: everywhere },
  { file: 'test/integration/fleet-metrics.test.ts', needs: withStreams },
  { file: 'test/integration/floods.test.ts', needs: everywhere },
  { file: 'test/integration/force-release.test.ts', needs: everywhere },
  { file: 'test/integration/reset-device.test.ts', needs: everywhere },
  { file: 'test/integration/forget-host.test.ts', needs: withStreams },
  { file: 'test/integration/hello.test.ts', needs: everywhere },
  { file: 'test/integration/history.test.ts', needs: withStreams },
  { file: 'test/integration/host-races.test.ts', needs: everywhere },
  { file: 'test/integration/host-summary.test.ts', needs: everywhere },
  { file: 'test/integration/host-work.test.ts', needs: everywhere },
  { file: 'test/integration/import-unclean.test.ts', needs: everywhere },
  { file: 'test/integration/import.test.ts', needs: everywhere },
  { file: 'test/integration/incident-marks.test.ts', needs: withStreams },
  { file: 'test/integration/inventory.test.ts', needs: withStreams },
  { file: 'test/integration/large-providers.test.ts', needs: everywhere },
  { file: 'test/integration/late-programs.test.ts', needs: [...everywhere, 's3'] },
  { file: 'test/integration/left-behind.test.ts', needs: everywhere },
  { file: 'test/integration/listings.test.ts', needs: everywhere },
  { file: 'test/integration/lost-devices.test.ts', needs: withStreams },
  { file: 'test/integration/lost-trees.test.ts', needs: everywhere },
  { file: 'test/integration/maintenance-races.test.ts', needs: everywhere },
  { file: 'test/integration/measured-capacity.test.ts', needs: everywhere },
  { file: 'test/integration/measured-usage.test.ts', needs: withStreams },
  { file: 'test/integration/moved-cards.test.ts', needs: everywhere },
  { file: 'test/integration/other-cards.test.ts', needs: withStreams },
  { file: 'test/integration/never-built.test.ts', needs: everywhere },
  { file: 'test/integration/partitioned-sets.test.ts', needs: everywhere },
  { file: 'test/integration/pools.test.ts', needs: withStreams },
  { file: 'test/integration/programming-again.test.ts', needs: [...everywhere, 's3'] },
  { file: 'test/integration/programming.test.ts', needs: [...everywhere, 's3'] },
  { file: 'test/integration/reaper.test.ts', needs: everywhere },
  { file: 'test/integration/reconcile.test.ts', needs: everywhere },
  { file: 'test/integration/redriven-messages.test.ts', needs: withStreams },
  { file: 'test/integration/refused-devices.test.ts', needs: everywhere },
  { file: 'test/integration/release-before.test.ts', needs: everywhere },
  { file: 'test/integration/release-recording.test.ts', needs: withStreams },
  { file: 'test/integration/report-races.test.ts', needs: everywhere },
  { file: 'test/integration/resolve-wait.test.ts', needs: everywhere },
  { file: 'test/integration/restore-host-work.test.ts', needs: everywhere },
  { file: 'test/integration/restore-programs.test.ts', needs: [...everywhere, 's3'] },
  { file: 'test/integration/restore.test.ts', needs: everywhere },
  { file: 'test/integration/revoked-hosts.test.ts', needs: everywhere },
  { file: 'test/integration/server-images.test.ts', needs: [...everywhere, 's3'] },
  { file: 'test/integration/shared-region.test.ts', needs: [...everywhere, 's3'] },
  { file: 'test/integration/throttled-binds.test.ts', needs: everywhere },
  { file: 'test/integration/unbound-races.test.ts', needs: everywhere },
  { file: 'test/integration/token-flood.test.ts', needs: everywhere },
  { file: 'test/integration/two-agents.test.ts', needs: everywhere },
  { file: 'test/integration/two-stacks.test.ts', needs: everywhere },
  { file: 'test/integration/work-messages.test.ts', needs: everywhere },
  { file: 'test/aws/jobs.test.ts', needs: ['iot'] },
];

/** Files that never run against an endpoint, with the reason. */
export const leftOut: Readonly<Record<string, string>> = {
  'test/integration/agreement.test.ts': 'its queue has a clock of its own',
  'test/integration/announcements.test.ts': 'EventBridge has to fail on request',
  'test/integration/certificate-renewal.test.ts': 'it plays AWS IoT itself',
  'test/integration/certificate-requests.test.ts': 'it plays AWS IoT itself',
  'test/integration/counted-units.test.ts': 'it counts by engines that say what they take',
  'test/integration/kill-at-each-step.test.ts': 'it kills the engines',
  'test/integration/password-rotation.test.ts': 'it plays Secrets Manager itself',
  'test/integration/poison.test.ts': 'its queues have a clock of their own',
  'test/integration/quotas.test.ts': 'it counts by engines that say what they take',
  'test/integration/request-id.test.ts': 'it plays AWS IoT itself',
};
