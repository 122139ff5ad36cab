// A host with an identity of its own whose root user is hostile: it publishes whatever its
// certificate lets it, to harm other hosts and the service.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { connectAsync, type MqttClient } from 'mqtt';
import { inventoryTopic, thingName, workEndTopic } from '#core/contracts/topics.ts';
import type { Layout } from '#local/process/layout.ts';
import type { Random } from '#simulation/random.ts';
import type { CloudHost } from '#test/local/cloud-hosts.ts';
import { aDevice, aHandle, aReport } from '#test/support/reports.ts';
import { handlesIn, type Stored } from './checker.ts';

interface Hostile {
  /** Publishes until the signal aborts; returns the number of messages by kind. */
  harm(stop: AbortSignal): Promise<ReadonlyMap<string, number>>;
}

/**
 * @param victims their names and addresses are copied
 * @param tables what is stored now: the hostile host has guessed all uuids
 */
export function createHostileHost(
  layout: Layout,
  { name }: CloudHost,
  victims: readonly CloudHost[],
  tables: () => Promise<Stored>,
  random: Random,
): Hostile {
  const thing = thingName(layout.stage, name);
  const folder = join(layout.directory, 'enrolled', name);
  const inventory = inventoryTopic(layout.stage, thing);
  const workEnds = workEndTopic(layout.stage, thing);
  const bootId = random.uuid();
  let sequence = 1;

  const report = (given: object, devices = [aDevice()]) => {
    sequence += 1;
    const own = { boot_id: bootId, sequence };
    return JSON.stringify({ ...aReport(devices, own), ...given });
  };
  const many = (count: number, handles: number) =>
    Array.from({ length: count }, (_, index) =>
      aDevice({
        address: `0000:${(index >> 3).toString(16).padStart(2, '0')}:0${index & 7}.0`,
        provider_suffix: `Hostile${index}`,
        handles,
      }),
    );
  const messages: Readonly<Record<string, (stored: Stored) => readonly [string, string]>> = {
    'handles of others': (stored) => {
      const uuids = handlesIn(stored).map(({ sk }) => String(sk).split('#')[1] ?? '');
      const attach_handles = uuids.slice(0, 8).map((uuid, index) => {
        const { type, info } = aHandle(index, 'MDEV');
        return { type, info: { ...info, asked_type: 'a' }, uuid };
      });
      const offers = { resource_class: 'PGPU', traits: [], attach_handles };
      return [inventory, report({}, [aDevice({ offers })])];
    },
    'devices of others': () => {
      const provider_suffix = `../${random.pick(victims).name}_0000:3b:00.0`;
      return [inventory, report({}, [aDevice({ address: '0000:3b:00.0', provider_suffix })])];
    },
    'the boot of another host': (stored) => {
      const boots = stored.inventory.flatMap(({ boot_id: id }) => (id ? [String(id)] : []));
      return [inventory, report({ boot_id: boots.length > 0 ? random.pick(boots) : bootId })];
    },
    'too many devices': () => [inventory, report({}, many(900, 1))],
    'too many handles': () => [inventory, report({}, many(8, 900))],
    'another boot each time': () => [inventory, report({ boot_id: random.uuid() })],
    'ends of the work of others': (stored) => {
      const ids = stored.arqs.flatMap(({ job_id, job_uuid, bind_id }) =>
        [job_id, job_uuid, bind_id].flatMap((id) => (id === undefined ? [] : [String(id)])),
      );
      const status = random.pick(['SUCCEEDED', 'FAILED', 'REJECTED']);
      const end = { job_id: ids.length > 0 ? random.pick(ids) : 'none', status, details: {} };
      return [workEnds, JSON.stringify(end)];
    },
    'no JSON': () => [inventory, random.pick(['{', '[]', 'null', '{"version":1e999}', '\u0000'])],
    'keys of prototypes': () => [inventory, report({ manifest: JSON.parse('{"__proto__":{}}') })],
    'the topic of another host': () => {
      const other = thingName(layout.stage, random.pick(victims).name);
      return [inventoryTopic(layout.stage, other), report({})];
    },
  };

  async function connect(): Promise<MqttClient> {
    const client = await connectAsync({
      protocol: 'mqtts',
      host: 'localhost',
      port: layout.ports.mqtt,
      clientId: thing,
      ca: readFileSync(join(layout.directory, 'certificates/authority.pem')),
      cert: readFileSync(join(folder, 'certificate.pem')),
      key: readFileSync(join(folder, 'key.pem')),
      reconnectPeriod: 0,
      connectTimeout: 5000,
    });
    return client.on('error', () => {});
  }

  return {
    harm: async (stop) => {
      const sent = new Map<string, number>();
      let client: MqttClient | undefined;
      while (!stop.aborted) {
        const kind = random.pick(Object.keys(messages));
        try {
          // The broker ends a connection that publishes to the topic of another host.
          if (!client?.connected) client = await connect();
          const [topic, payload] = messages[kind]?.(await tables()) ?? ['', ''];
          await Promise.race([client.publishAsync(topic, payload, { qos: 1 }), delay(2000)]);
          sent.set(kind, (sent.get(kind) ?? 0) + 1);
        } catch {
          client?.end(true);
        }
        await delay(random.between(100, 600));
      }
      client?.end(true);
      return sent;
    },
  };
}
