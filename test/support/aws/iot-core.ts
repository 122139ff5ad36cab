// A fake AWS IoT, registry and broker, for tests of the operators' commands.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { IoTClient } from '@aws-sdk/client-iot';
import { type PresenceEvent, presenceEvent } from '#core/contracts/queues/queue-messages.ts';
import { type LocalBroker, startBroker } from '#local/aws/broker.ts';
import { type Certificates, openCertificates } from '#local/aws/certificates.ts';
import { ThingRegistry } from '#local/aws/iot-jobs/registry/registry.ts';
import { startIotJobs } from '#local/aws/iot-jobs/start.ts';

export interface IotCore {
  readonly directory: string;
  readonly broker: LocalBroker;
  readonly certificates: Certificates;
  readonly registry: ThingRegistry;
  readonly url: string;
  /** All events of all hosts. */
  readonly presence: PresenceEvent[];
  /** A client of the unmodified SDK. */
  client(): IoTClient;
  stop(): Promise<void>;
}

/** @param onMessage also takes each message for the rules */
export async function startIotCore(
  stage: string,
  onMessage: (topic: string, payload: Buffer) => Promise<void> = async () => {},
): Promise<IotCore> {
  const directory = mkdtempSync(join(tmpdir(), 'iot-core-'));
  const certificates = openCertificates(join(directory, 'certificates'));
  const registry = new ThingRegistry({ stage, sign: certificates.sign });
  const presence: PresenceEvent[] = [];
  const deliver = async (topic: string, payload: Buffer) => {
    await onMessage(topic, payload);
    if (!topic.startsWith('$aws/events/presence/')) return;
    presence.push(presenceEvent.parse(JSON.parse(payload.toString())));
  };
  const jobs = await startIotJobs({ deliver, registry });
  const broker = await startBroker({
    stage,
    certificates: certificates.server,
    deliver,
    jobs: jobs.devices,
    registry,
  });
  const clients: IoTClient[] = [];
  return {
    directory,
    broker,
    certificates,
    registry,
    url: jobs.url,
    presence,
    client: () => {
      const credentials = { accessKeyId: 'test', secretAccessKey: 'test' };
      const client = new IoTClient({
        endpoint: jobs.url,
        region: 'us-east-1',
        credentials,
        maxAttempts: 1,
      });
      clients.push(client);
      return client;
    },
    stop: async () => {
      for (const client of clients) client.destroy();
      await broker.stop();
      await jobs.stop();
      registry.close();
      rmSync(directory, { recursive: true });
    },
  };
}
