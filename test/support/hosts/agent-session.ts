// A fake connection of the agent, without a broker: messages go to the jobs model at once.

import type { MessageListener, Session } from '#agent/broker/mqtt.ts';
import { aJobsModel, type JobsModel } from './iot-jobs-model.ts';

export const thing = 'test:cmp1:example';
export const jobsRoot = `$aws/things/${thing}/jobs`;

export interface TestSession extends Session {
  /** The published messages, in order. */
  readonly published: { readonly topic: string; readonly payload: Record<string, unknown> }[];
  readonly filters: string[];
  receive(topic: string, message: unknown): void;
  lose(): void;
}

/** @param deliver takes a message; rejects like a broker that does not acknowledge */
export function aSession(
  deliver: (topic: string, payload: string) => Promise<void> = async () => {},
): TestSession {
  const lost = new AbortController();
  const listeners: MessageListener[] = [];
  const published: TestSession['published'] = [];
  const filters: string[] = [];
  return {
    published,
    filters,
    lost: lost.signal,
    lose: () => lost.abort(new Error('the connection was closed')),
    receive: (topic, message) => {
      const payload = typeof message === 'string' ? message : JSON.stringify(message);
      for (const listener of listeners) listener(topic, Buffer.from(payload));
    },
    publish: async (topic, payload) => {
      lost.signal.throwIfAborted();
      published.push({ topic, payload: JSON.parse(payload) });
      await deliver(topic, payload);
    },
    subscribe: async (added) => void filters.push(...added),
    onMessage: (listener) => void listeners.push(listener),
    end: async () => {},
  };
}

/** A fake jobs service, and connections to it. Only the last connection receives. */
export function aJobsService(): JobsModel & { connect(): TestSession } {
  let current: TestSession | undefined;
  const model = aJobsModel(thing, async (topic, payload) => {
    // Asynchronously, as over a network: never within the call that caused the message.
    setImmediate(() => {
      if (!current?.lost.aborted) current?.receive(topic, payload);
    });
  });
  return Object.assign(model, {
    connect: () => {
      current = aSession((topic, payload) => model.deliver(topic, Buffer.from(payload)));
      return current;
    },
  });
}
