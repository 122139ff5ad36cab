// The agent's own metrics, for the Prometheus of this host: on loopback, and only where a setting
// names a port. They have the devices that the agent offers, what vendors' tools say of the cards,
// and nothing else of the host.

import { createServer } from 'node:http';
import type { Session } from '#agent/broker/mqtt.ts';
import type { Clock } from '#agent/clock.ts';
import type { Skew } from '#agent/cloud-clock.ts';
import type { ToolReading } from '#agent/faults/tools/tool-reading.ts';
import { type Log, reasonOf } from '#agent/log.ts';
import type { Found } from '#agent/report/discover.ts';
import { agentVersion } from '#agent/version.ts';
import { expose } from '#core/contracts/exposition.ts';
import { namesServer } from '#core/contracts/host-header.ts';
import type { MetricFamily, Sample } from '#core/shapes/fleet.ts';

export const agentMetrics = {
  cyborg_agent_info: {
    type: 'gauge',
    labels: ['version'],
    help: 'The version of the agent; always 1.',
  },
  cyborg_agent_connected: {
    type: 'gauge',
    labels: [],
    help: 'Whether the agent is connected to its broker.',
  },
  cyborg_agent_last_discovery_timestamp_seconds: {
    type: 'gauge',
    labels: [],
    help: 'When the last discovery ended.',
  },
  cyborg_agent_last_report_timestamp_seconds: {
    type: 'gauge',
    labels: [],
    help: 'When the broker last acknowledged a report.',
  },
  cyborg_agent_devices: {
    type: 'gauge',
    labels: ['type', 'model', 'health'],
    help: 'Devices that the agent reports.',
  },
  cyborg_agent_devices_not_offered: {
    type: 'gauge',
    labels: [],
    help: 'Devices that the settings name and the agent does not offer.',
  },
  cyborg_agent_driver_failed: {
    type: 'gauge',
    labels: ['driver'],
    help: 'Whether the driver failed in the last discovery.',
  },
  cyborg_agent_device_temperature_celsius: {
    type: 'gauge',
    labels: ['address'],
    help: "Temperature of the device's processor, by its vendor's tool.",
  },
  cyborg_agent_device_uncorrectable_errors: {
    type: 'gauge',
    labels: ['address'],
    help: "Uncorrectable errors of the device's memory since its driver was loaded, by its vendor's tool.",
  },
  cyborg_agent_clock_ahead_seconds: {
    type: 'gauge',
    labels: [],
    help: 'How far the clock of the host is ahead of the control plane.',
  },
} as const satisfies Readonly<Record<string, MetricFamily>>;

export interface AgentMetrics {
  discovered(discovery: Found): void;
  /** The session, whose reports and end are noted. @param topic of reports */
  watch(session: Session, topic: string): Session;
  text(accept: string | undefined): { readonly contentType: string; readonly text: string };
}

interface MetricsDeps {
  readonly drivers: readonly string[];
  readonly skew: () => Skew | undefined;
  /** What vendors' tools have said, by PCI address. */
  readonly readings: () => ReadonlyMap<string, ToolReading>;
  readonly clock: Pick<Clock, 'wallMs'>;
}

export function createAgentMetrics({ drivers, skew, readings, clock }: MetricsDeps): AgentMetrics {
  let latest: Found | undefined;
  let discoveredAt: number | undefined;
  let reportedAt: number | undefined;
  let session: Session | undefined;
  const now = () => Math.floor(clock.wallMs() / 1000);
  return {
    discovered(discovery) {
      latest = discovery;
      discoveredAt = now();
    },

    watch(opened, topic) {
      const watched: Session = {
        ...opened,
        async publish(to, payload) {
          await opened.publish(to, payload);
          if (to === topic) reportedAt = now();
        },
        async end() {
          if (session === watched) session = undefined;
          await opened.end();
        },
      };
      session = watched;
      return watched;
    },

    text(accept) {
      const isConnected = session !== undefined && !session.lost.aborted;
      const samples = [
        sample('cyborg_agent_info', [agentVersion], 1),
        sample('cyborg_agent_connected', [], Number(isConnected)),
        ...optional('cyborg_agent_last_discovery_timestamp_seconds', discoveredAt),
        ...optional('cyborg_agent_last_report_timestamp_seconds', reportedAt),
        ...(latest ? ofDiscovery(latest, drivers) : []),
        ...[...readings()].flatMap(ofReading),
        ...optional('cyborg_agent_clock_ahead_seconds', inSeconds(skew())),
      ];
      return expose(agentMetrics, samples, accept);
    },
  };
}

function ofDiscovery({ devices, notOffered, failedDrivers }: Found, drivers: readonly string[]) {
  const alike = Map.groupBy(devices, ({ device }) => {
    const { type, vendor, product, health } = device;
    return JSON.stringify([type, `${id(vendor)}:${id(product)}`, health?.state ?? 'unknown']);
  });
  return [
    ...[...alike].map(([labels, group]) =>
      sample('cyborg_agent_devices', JSON.parse(labels) as string[], group.length),
    ),
    sample('cyborg_agent_devices_not_offered', [], notOffered.length),
    ...drivers.map((driver) =>
      sample('cyborg_agent_driver_failed', [driver], Number(failedDrivers.includes(driver))),
    ),
  ];
}

function ofReading([address, { celsius, uncorrectable }]: [string, ToolReading]): Sample[] {
  return [
    ...optional('cyborg_agent_device_temperature_celsius', celsius, [address]),
    ...optional('cyborg_agent_device_uncorrectable_errors', uncorrectable, [address]),
  ];
}

/** Vendors and products as the API shows them. */
function id(text: string): string {
  return text.toLowerCase().replace(/^0x/, '');
}

function sample(metric: keyof typeof agentMetrics, labels: string[], value: number): Sample {
  return { metric, labels, value };
}

function optional(
  metric: keyof typeof agentMetrics,
  value: number | undefined,
  labels: string[] = [],
): Sample[] {
  return value === undefined ? [] : [sample(metric, labels, value)];
}

function inSeconds(skew: Skew | undefined): number | undefined {
  return skew && skew.aheadMs / 1000;
}

/** A reader that is slow, or of which there are many, must not cost the agent more than this. */
const connectionsMax = 8;
const requestMsMax = 5000;

/** Never keeps the agent from its work: a port that is taken is a line of the log. */
export function serveMetrics(
  port: number,
  metrics: Pick<AgentMetrics, 'text'>,
  { log, stop }: { readonly log: Log; readonly stop: AbortSignal },
): void {
  const server = createServer({ requestTimeout: requestMsMax }, (request, response) => {
    response.setHeader('Connection', 'close');
    if (!namesServer(request.headers.host, '127.0.0.1')) {
      response.writeHead(421).end();
      return;
    }
    if (request.method !== 'GET' || request.url !== '/metrics') {
      response.writeHead(404).end();
      return;
    }
    const { contentType, text } = metrics.text(request.headers.accept);
    response.writeHead(200, { 'Content-Type': contentType }).end(text);
  });
  server.maxConnections = connectionsMax;
  server.setTimeout(requestMsMax);
  server.on('error', (error) => log.error('Metrics not served', { port, reason: reasonOf(error) }));
  server.listen(port, '127.0.0.1').unref();
  stop.addEventListener('abort', () => server.close());
}
