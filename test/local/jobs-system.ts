// AWS IoT Jobs with its broker in this process, with a clock that the test sets.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  CreateJobCommand,
  type CreateJobCommandInput,
  DescribeJobExecutionCommand,
  IoTClient,
} from '@aws-sdk/client-iot';
import type { IClientOptions } from 'mqtt';
import { startBroker } from '#local/aws/broker.ts';
import { openCertificates } from '#local/aws/certificates.ts';
import { type IotJobsOptions, startIotJobs } from '#local/aws/iot-jobs/start.ts';
import { connectDevice, type Device } from './jobs-device.ts';

/** The start of the clock, with a fraction that devices must not see. */
export const startMs = 1_800_000_000_123;
export const startSeconds = 1_800_000_000;

export const aDocument = { operation: 'test', nested: { list: [1] } };

export function thingArn(thing: string): string {
  return `arn:aws:iot:us-east-1:000000000000:thing/${thing}`;
}

export function iotAt(url: string): IoTClient {
  return new IoTClient({
    region: 'us-east-1',
    credentials: { accessKeyId: 'local', secretAccessKey: 'local' },
    endpoint: url,
  });
}

export function newJob(jobId: string, more: Partial<CreateJobCommandInput> = {}): CreateJobCommand {
  return new CreateJobCommand({
    jobId,
    targets: [thingArn('node-1')],
    document: JSON.stringify(aDocument),
    ...more,
  });
}

export type JobsSystem = Awaited<ReturnType<typeof startJobsSystem>>;

export async function startJobsSystem(options: Partial<IotJobsOptions> = {}) {
  const directory = mkdtempSync(join(tmpdir(), 'iot-jobs-'));
  const certificates = openCertificates(directory);
  const clock = { nowMs: startMs };
  const delivered: { topic: string; payload: Buffer }[] = [];
  /** A test may replace `deliver`. */
  const rules: { deliver: IotJobsOptions['deliver'] } = {
    deliver: async (topic, payload) => void delivered.push({ topic, payload }),
  };
  const deliver = (topic: string, payload: Buffer) => rules.deliver(topic, payload);
  const jobs = await startIotJobs({ deliver, now: () => clock.nowMs, timerMs: 20, ...options });
  const broker = await startBroker({
    stage: 'test',
    certificates: certificates.server,
    deliver,
    jobs: jobs.devices,
  });
  const iot = iotAt(jobs.url);
  const devices: Device[] = [];
  return {
    clock,
    rules,
    delivered,
    iot,
    url: jobs.url,
    connect: async (
      thing: string,
      connectOptions: IClientOptions & { readonly subscribe?: readonly string[] } = {},
    ): Promise<Device> => {
      const device = await connectDevice(broker, certificates, thing, connectOptions);
      devices.push(device);
      return device;
    },
    create: (jobId: string, more: Partial<CreateJobCommandInput> = {}) =>
      iot.send(newJob(jobId, more)),
    execution: async (jobId: string, thingName = 'node-1') => {
      const command = new DescribeJobExecutionCommand({ jobId, thingName });
      return (await iot.send(command)).execution;
    },
    /** Events of executions that the rules got. */
    events: () =>
      delivered
        .filter(({ topic }) => topic.startsWith('$aws/events/jobExecution/'))
        .map(({ topic, payload }) => ({ topic, event: JSON.parse(payload.toString()) })),
    stop: async () => {
      for (const { client } of devices) client.end(true);
      iot.destroy();
      await broker.stop();
      await jobs.stop();
      rmSync(directory, { recursive: true });
    },
  };
}
