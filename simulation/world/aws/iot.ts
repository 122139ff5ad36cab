// A fake AWS IoT: connections of things, presence, rules to queues, and the jobs of the local
// system's fake.

import {
  CancelJobCommand,
  CreateJobCommand,
  DescribeJobExecutionCommand,
} from '@aws-sdk/client-iot';
import { PublishCommand } from '@aws-sdk/client-iot-data-plane';
import type { MessageListener, Session } from '#agent/broker/mqtt.ts';
import { createHostMessages, type HostMessages } from '#core/clients/aws/host-messages.ts';
import { createIotJobs, type IotJobs } from '#core/clients/aws/iot-jobs.ts';
import type { QueueName } from '#core/contracts/queues/queues.ts';
import { rules } from '#core/contracts/queues/rules.ts';
import { workTopic } from '#core/contracts/topics.ts';
import { answerDevice } from '#local/aws/iot-jobs/device-requests.ts';
import { JobsError } from '#local/aws/iot-jobs/errors.ts';
import { Notifier } from '#local/aws/iot-jobs/notifications.ts';
import { Jobs } from '#local/aws/iot-jobs/store/jobs.ts';
import { JobStorage } from '#local/aws/iot-jobs/store/storage.ts';
import { named } from '#simulation/database/memory-database.ts';
import type { Faults } from '#simulation/faults.ts';
import type { Random } from '#simulation/random.ts';
import type { Process, Timeline } from '#simulation/timeline.ts';

export interface SimulatedIot {
  /** The client of the control plane, for one of its processes. */
  jobsFor(process: Process): IotJobs;
  /** Its messages to hosts, for one of its processes. */
  messagesFor(process: Process): HostMessages;
  /** Opens a connection for a process of the agent. @throws while the service is out */
  connect(process: Process, thing: string): Promise<Session>;
  /** Ends the thing's connection, now or when the keep-alive runs out. */
  drop(thing: string, afterMs: number): void;
  isOut: boolean;
  pendingJobs(thing: string): number;
  close(): void;
}

interface IotParts {
  readonly timeline: Timeline;
  readonly random: Random;
  readonly faults: Faults;
  readonly stage: string;
  readonly thingArnPrefix: string;
  readonly put: (queue: QueueName, body: string) => void;
  /** Called for each job and each message to a host, with its ARN or its topic. */
  readonly asked: (target: string) => void;
}

interface Connection {
  readonly process: Process;
  readonly session: string;
  readonly version: number;
  readonly lost: AbortController;
  readonly listeners: Set<MessageListener>;
}

const timerMs = 60_000;

export function createIot(parts: IotParts): SimulatedIot {
  const { timeline, random, faults, put, asked, thingArnPrefix, stage } = parts;
  const storage = new JobStorage(undefined);
  const jobs = new Jobs(storage, timeline.now);
  const notifier = new Notifier(storage, timeline.now);
  const connections = new Map<string, Connection>();
  const versions = new Map<string, number>();

  const iot: SimulatedIot = {
    isOut: false,
    jobsFor: (process) =>
      createIotJobs({
        stage,
        thingArnPrefix,
        client: {
          send: (command: object) => timeline.effect(process, 'IoT', () => control(command)),
        } as never,
      }),
    messagesFor: (process) =>
      createHostMessages({
        stage,
        client: {
          send: (command: object) =>
            timeline.effect(process, 'IoT publish', () => publishTo(command)),
        } as never,
      }),
    connect: (process, thing) =>
      timeline.effect(process, 'MQTT connect', () => {
        if (iot.isOut) throw new Error('no connection');
        return openSession(process, thing);
      }),
    drop: (thing, afterMs) => {
      const connection = connections.get(thing);
      if (!connection) return;
      timeline.at(timeline.now() + afterMs, () => disconnect(thing, connection));
    },
    pendingJobs: (thing) => storage.pendingOf(thing).length,
    close: () => storage.close(),
  };

  function control(command: object): object {
    if (iot.isOut) throw named('ServiceUnavailableException', 'out');
    try {
      if (command instanceof CreateJobCommand) {
        if (faults.happens('CreateJob throttled'))
          throw named('ThrottlingException', 'Rate exceeded');
        const { jobId = '', document = '', targets = [], timeoutConfig } = command.input;
        for (const target of targets) asked(target);
        jobs.create({ id: jobId, document, targets, targetSelection: 'SNAPSHOT', timeoutConfig });
        return {};
      }
      if (command instanceof CancelJobCommand) {
        const { jobId = '', force = false, comment } = command.input;
        jobs.cancel(jobId, { force, comment });
        return {};
      }
      if (command instanceof DescribeJobExecutionCommand) {
        const { jobId = '', thingName = '' } = command.input;
        return { execution: { status: jobs.execution(jobId, thingName).status } };
      }
      throw new Error(`The fake AWS IoT does not support ${command.constructor.name}.`);
    } catch (error) {
      throw error instanceof JobsError ? named(`${error.code}Exception`, error.message) : error;
    } finally {
      deliverAll();
    }
  }

  function publishTo(command: object): object {
    if (iot.isOut) throw named('ServiceUnavailableException', 'out');
    if (!(command instanceof PublishCommand)) {
      throw new Error(`The fake AWS IoT does not support ${command.constructor.name}.`);
    }
    const { topic = '', payload } = command.input;
    asked(topic);
    const thing = [...connections.keys()].find((each) => topic === workTopic(stage, each));
    // Without a subscriber the message is lost.
    if (thing !== undefined) deliver(thing, topic, Buffer.from(payload as Uint8Array).toString());
    return {};
  }

  /** Delivers the notifications and events that a change of jobs caused. */
  function deliverAll(): void {
    for (const { thing, topic, payload } of notifier.take()) deliver(thing, topic, payload);
    for (const { number, topic, payload } of storage.oldestEvents(100)) {
      storage.deleteEvent(number);
      if (!faults.happens('IoT event lost')) toRules(topic, payload);
      if (faults.happens('IoT event twice')) toRules(topic, payload);
    }
  }

  /** Delivers to the thing's connection, unless it ends first. */
  function deliver(thing: string, topic: string, payload: string): void {
    const connection = connections.get(thing);
    if (!connection || faults.happens('MQTT message lost')) return;
    timeline.at(timeline.now() + random.between(1, 30), () => {
      if (connections.get(thing) !== connection || connection.process.isDead) return;
      for (const listener of connection.listeners) listener(topic, Buffer.from(payload));
    });
  }

  function toRules(topic: string, payload: string): void {
    for (const rule of rules) {
      const segments = topic.split('/');
      if (!fits(rule.filter, segments)) continue;
      const envelope = {
        thing: segments[rule.thingSegment - 1] ?? '',
        topic,
        received_at: timeline.now(),
        payload: Buffer.from(payload).toString('base64'),
      };
      put(rule.queue, JSON.stringify(envelope));
    }
  }

  function openSession(process: Process, thing: string): Session {
    const before = connections.get(thing);
    if (before) disconnect(thing, before);
    const version = (versions.get(thing) ?? 0) + 1;
    versions.set(thing, version);
    const connection: Connection = {
      process,
      session: random.uuid(),
      version,
      lost: new AbortController(),
      listeners: new Set(),
    };
    connections.set(thing, connection);
    presence('connected', thing, connection);
    return {
      lost: connection.lost.signal,
      onMessage: (listener) => void connection.listeners.add(listener),
      subscribe: () => timeline.effect(process, 'MQTT subscribe', () => check(thing, connection)),
      publish: (topic, payload) =>
        timeline.effect(process, 'MQTT publish', () => {
          check(thing, connection);
          if (faults.happens('connection lost')) {
            disconnect(thing, connection);
            throw new Error('the connection was closed');
          }
          publish(thing, topic, payload);
        }),
      end: async () => disconnect(thing, connection),
    };
  }

  function check(thing: string, connection: Connection): void {
    if (connections.get(thing) !== connection) throw new Error('not connected');
  }

  function publish(thing: string, topic: string, payload: string): void {
    if (topic.startsWith('$aws/things/')) {
      const answer = answerDevice(jobs, thing, topic, Buffer.from(payload), timeline.now());
      deliver(thing, answer.topic, answer.payload);
      deliverAll();
      return;
    }
    // Basic Ingest: `$aws/rules/<rule>/` is not part of the topic.
    toRules(topic.replace(/^\$aws\/rules\/[^/]+\//, ''), payload);
  }

  function disconnect(thing: string, connection: Connection): void {
    if (connections.get(thing) !== connection) return;
    connections.delete(thing);
    connection.lost.abort(new Error('the connection was closed'));
    presence('disconnected', thing, connection);
  }

  function presence(eventType: string, thing: string, { session, version }: Connection): void {
    if (faults.happens('presence event lost')) return;
    toRules(
      `$aws/events/presence/${eventType}/${thing}`,
      JSON.stringify({
        clientId: thing,
        timestamp: timeline.now(),
        eventType,
        sessionIdentifier: session,
        versionNumber: version,
      }),
    );
  }

  function timer(): void {
    jobs.expire();
    deliverAll();
    timeline.at(timeline.now() + timerMs, timer);
  }
  timeline.at(timeline.now() + timerMs, timer);
  return iot;
}

function fits(filter: string, topic: readonly string[]): boolean {
  const filterLevels = filter.split('/');
  return (
    filterLevels.length === topic.length &&
    filterLevels.every((part, index) => part === '+' || part === '{stage}' || part === topic[index])
  );
}
