// The parts of the local system, each of which can be killed and restarted by itself. Each part
// loads only its own modules.

import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Log } from '#core/log.ts';
import type { Running } from '#local/ports.ts';
import { host, type Layout, portVariable, urlOf } from './layout.ts';

export const partNames = [
  'queues',
  's3',
  'events',
  'broker',
  'openstack',
  'api',
  'consumers',
] as const;
export type PartName = (typeof partNames)[number];

/**
 * Creates the stage's tables and queues, and its bucket at another S3, before the parts that need
 * them.
 */
export const setupName = 'setup';

export async function startPart(
  name: PartName | typeof setupName,
  layout: Layout,
  log: Log,
): Promise<Running> {
  mkdirSync(layout.directory, { recursive: true });
  return name === setupName ? setUp(layout) : starters[name](layout, log);
}

async function setUp({ stage, replaced }: Layout): Promise<Running> {
  const [{ DynamoDBClient }, { SQSClient }, { createTables }, { createQueues }] = await Promise.all(
    [
      import('@aws-sdk/client-dynamodb'),
      import('@aws-sdk/client-sqs'),
      import('#local/aws/dynamodb/dynamodb.ts'),
      import('#local/aws/queues.ts'),
    ],
  );
  const tables = new DynamoDBClient();
  const queues = new SQSClient();
  await Promise.all([
    createTables(tables, stage),
    createQueues(queues, stage),
    // Our own S3 needs no bucket.
    ...(replaced.includes('s3') ? [createBucket()] : []),
  ]);
  for (const client of [tables, queues]) client.destroy();
  return { stop: async () => {} };
}

async function createBucket(): Promise<void> {
  const [{ CreateBucketCommand, S3Client }, { loadSettings }] = await Promise.all([
    import('@aws-sdk/client-s3'),
    import('#core/settings.ts'),
  ]);
  const { bucket, usesPathStyle } = loadSettings(process.env).staging;
  const client = new S3Client({ forcePathStyle: usesPathStyle });
  await client.send(new CreateBucketCommand({ Bucket: bucket })).catch((error: Error) => {
    if (error.name === 'BucketAlreadyOwnedByYou') return;
    throw new Error(`The bucket ${bucket} was not created: ${error.name}: ${error.message}`);
  });
  client.destroy();
}

const starters: Readonly<Record<PartName, (layout: Layout, log: Log) => Promise<Running>>> = {
  async queues(layout) {
    const { startQueues } = await import('#local/aws/queues.ts');
    return startQueues({
      host,
      port: layout.ports.sqs,
      variable: portVariable('sqs'),
      file: join(layout.directory, 'sqs.db'),
    });
  },

  async s3(layout) {
    const { startS3 } = await import('#local/aws/s3.ts');
    return startS3({
      host,
      port: layout.ports.s3,
      variable: portVariable('s3'),
      directory: join(layout.directory, 's3'),
    });
  },

  async events(layout) {
    const { startEvents } = await import('#local/aws/events.ts');
    return startEvents({
      host,
      port: layout.ports.events,
      variable: portVariable('events'),
      file: eventsFile(layout),
    });
  },

  async broker(layout, log) {
    const [{ SQSClient }, { startBroker }, { openCertificates }, { createRuleEngine }, settings] =
      await Promise.all([
        import('@aws-sdk/client-sqs'),
        import('#local/aws/broker.ts'),
        import('#local/aws/certificates.ts'),
        import('#local/aws/iot-rules.ts'),
        import('#core/settings.ts'),
      ]);
    const [{ startIotJobs }, { ThingRegistry }] = await Promise.all([
      import('#local/aws/iot-jobs/start.ts'),
      import('#local/aws/iot-jobs/registry/registry.ts'),
    ]);
    const { queueUrls } = settings.loadSettings(process.env);
    const { stage } = layout;
    const rules = createRuleEngine({ stage, sqs: new SQSClient(), queueUrls, log });
    const certificates = openCertificates(certificateDirectory(layout));
    const registry = new ThingRegistry({
      stage,
      file: join(layout.directory, 'iot-registry.db'),
      sign: certificates.sign,
    });
    // In one process with the broker, through which devices reach their jobs.
    const jobs = await startIotJobs({
      host,
      port: layout.ports.iot,
      variable: portVariable('iot'),
      file: join(layout.directory, 'iot-jobs.db'),
      deliver: rules.deliver,
      registry,
      log,
    });
    const broker = await startBroker({
      stage,
      host,
      port: layout.ports.mqtt,
      variable: portVariable('mqtt'),
      certificates: certificates.server,
      deliver: rules.deliver,
      jobs: jobs.devices,
      registry,
      log,
    });
    return {
      stop: async () => {
        await broker.stop();
        await jobs.stop();
        registry.close();
      },
    };
  },

  async openstack(layout) {
    const { startOpenStack } = await import('./start-openstack.ts');
    return startOpenStack(layout);
  },

  async api(layout, log) {
    const { startApi } = await import('#local/lambda/api.ts');
    return startApi({ host, port: layout.ports.api, variable: portVariable('api'), log });
  },

  async consumers(layout, log) {
    const { startConsumers } = await import('#local/lambda/consumers.ts');
    return startConsumers({
      log,
      checkpointDirectory: checkpointDirectory(layout),
      ...(!layout.replaced.includes('dynamodb') && { engineFile: engineFile(layout) }),
    });
  },
};

export function certificateDirectory(layout: Layout): string {
  return join(layout.directory, 'certificates');
}

/** The announced events, one a line. */
function eventsFile(layout: Layout): string {
  return join(layout.directory, 'events.jsonl');
}

/** The positions of the consumers in the streams of the tables. */
export function checkpointDirectory(layout: Layout): string {
  return join(layout.directory, 'streams');
}

export function engineFile(layout: Layout): string {
  return join(layout.directory, 'dynamodb.db');
}

/** The web page of operators. */
export function consoleUrl(layout: Layout): string {
  return `${urlOf(layout, 'api')}/console`;
}

/** The accelerator API's URL in the catalog. */
export function apiUrl(layout: Layout): string {
  return `${urlOf(layout, 'api')}/accelerator/v2`;
}
