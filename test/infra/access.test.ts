// The rights of the roles: the calls of the functions to DynamoDB and SQS, recorded while the
// system runs on one machine, compared with the template. Only AWS enforces roles.

import { describe, expect, it, vi } from 'vitest';
import type { createQueues } from '#core/clients/aws/queues.ts';
import type { createLog } from '#core/log.ts';
import type { createDocuments } from '#core/store/table/documents.ts';
import { access, type FunctionName, ownTokenAccess } from '#infra/access.ts';
import { synthesize } from '#infra/privileges/synthesized.ts';
import { iotAt, serveJobs } from '#test/support/http-server.ts';
import { perFile } from '#test/support/vitest/shared.ts';
import { startWorld } from '#test/support/world.ts';
import { runWorkload } from './every-privilege.ts';

/** `function action resource`, e.g. `sweep DeleteItem table/test-arqs`. */
const asked = vi.hoisted(() => ({ all: new Set<string>(), by: '' }));

// The function of a client is known while its dependencies are made.
vi.mock('#core/log.ts', async (original) => {
  const log = await original<{ createLog: typeof createLog }>();
  const createNotedLog: typeof createLog = (service, ...rest) => {
    asked.by = service;
    return log.createLog(service, ...rest);
  };
  return { ...log, createLog: createNotedLog };
});

vi.mock('#core/clients/aws/queues.ts', async (original) => {
  const queues = await original<{ createQueues: typeof createQueues }>();
  const createNotedQueues: typeof createQueues = (...given) => {
    const service = asked.by;
    const made = queues.createQueues(...given);
    return {
      send: async (queue, messages) => {
        if (messages.length > 0) asked.all.add(`${service} SendMessage test-${queue}`);
        await made.send(queue, messages);
      },
    };
  };
  return { ...queues, createQueues: createNotedQueues };
});

vi.mock('#core/store/table/documents.ts', async (original) => {
  const documents = await original<{ createDocuments: typeof createDocuments }>();
  const createNotedDocuments: typeof createDocuments = (config) => {
    const service = asked.by;
    const made = documents.createDocuments(config);
    for (const client of [made.documents, made.strong]) {
      client.middlewareStack.add(
        (next, { commandName }) =>
          async (args) => {
            const each = requestsOf(String(commandName), args.input as unknown as Input);
            for (const request of each) asked.all.add(`${service} ${request}`);
            return next(args);
          },
        { step: 'initialize', name: 'noteRequests', priority: 'high' },
      );
    }
    return made;
  };
  return { ...documents, createDocuments: createNotedDocuments };
});

interface Input {
  readonly TableName?: string;
  readonly IndexName?: string;
  readonly RequestItems?: object;
  readonly TransactItems?: readonly Readonly<Record<string, { readonly TableName: string }>>[];
}

/** The actions that IAM checks for a call: each part of a transaction by itself. */
function requestsOf(command: string, input: Input): string[] {
  const action = command.replace('Command', '');
  if (input.TransactItems) {
    return input.TransactItems.flatMap((item) =>
      Object.entries(item).map(([part, { TableName }]) => `${part}Item table/${TableName}`),
    );
  }
  const index = input.IndexName === undefined ? '' : `/index/${input.IndexName}`;
  const names = input.RequestItems
    ? Object.keys(input.RequestItems)
    : [`${input.TableName}${index}`];
  return names.map((name) => `${action} table/${name}`);
}

// The recorded calls matter, not their answers.
const jobService = perFile(serveJobs);
const styles = { CYBORG_EVENT_STYLE: 'spec', CYBORG_ATTACH_TYPES: 'TEST_PCI,MDEV' };
const world = perFile(() =>
  startWorld({
    consumers: true,
    settings: { ...styles, ...iotAt(jobService), CYBORG_REQUIRE_SIGNATURE: '' },
  }),
);

/**
 * Rights that every-privilege.ts does not use: a host that never reported, or rebooted while it
 * cleaned; the second look at a server, a minute after the first; an admin's force release or
 * program of a region; a component's program that does not end by its job; a host forgotten while
 * it owed a release; damaged rows; a card that moved to another host; a region that appeared while
 * its device was set; a bind without host work; a sweep in whose minute no device falls, or that
 * finds a job ended or never made, or binds to count; a restore from a backup; EventBridge away.
 */
const unlived: readonly string[] = [
  'announcements SendMessage test-late-events',
  'deployables PutItem table/test-arqs',
  'deployables Query table/test-inventory',
  'deployables UpdateItem table/test-inventory',
  'devices DeleteItem table/test-arqs',
  'devices GetItem table/test-arqs',
  'devices ConditionCheckItem table/test-arqs',
  'host-jobs ConditionCheckItem table/test-arqs',
  'host-jobs ConditionCheckItem table/test-inventory',
  'host-jobs DeleteItem table/test-inventory',
  'host-jobs UpdateItem table/test-arqs',
  'host-jobs UpdateItem table/test-inventory',
  'inventory-reports BatchGetItem table/test-inventory',
  'inventory-reports ConditionCheckItem table/test-arqs',
  'inventory-reports DeleteItem table/test-arqs',
  'job-events DeleteItem table/test-inventory',
  'nova-events DeleteItem table/test-arqs',
  'nova-events PutItem table/test-arqs',
  'operator DeleteItem table/test-arqs',
  'provider-syncs ConditionCheckItem table/test-inventory',
  'provider-syncs PutItem table/test-arqs',
  'provider-syncs UpdateItem table/test-inventory',
  'sweep ConditionCheckItem table/test-arqs',
  'sweep ConditionCheckItem table/test-inventory',
  'sweep DeleteItem table/test-inventory',
  'sweep BatchGetItem table/test-inventory',
  'sweep Query table/test-history',
  'sweep Query table/test-inventory',
  'sweep SendMessage test-host-jobs',
  'sweep SendMessage test-provider-syncs',
];

describe('the roles of the functions', () => {
  const stack = synthesize();
  const names = Object.keys(access) as FunctionName[];
  const granted = (name: FunctionName) =>
    stack.allowedTo(name).flatMap(({ actions, resources }) =>
      actions.flatMap((action) =>
        resources
          .map((resource) => resource.replace(/^arn:aws:[a-z]+:us-east-1:0{12}:/, ''))
          .filter(
            (resource) =>
              resource.startsWith('table/') ||
              // A consumer that sends to its own queue also takes from it.
              (action === 'sqs:SendMessage' && isSending(name, resource)),
          )
          .map((resource) => `${name} ${action.replace(/^(dynamodb|sqs):/, '')} ${resource}`),
      ),
    );

  function isSending(name: FunctionName, resource: string): boolean {
    return access[name].sendsTo?.some((queue) => resource === `test-${queue}`) ?? false;
  }

  function neededBy(name: FunctionName): string[] {
    const needed = [...asked.all, ...unlived].filter((request) => request.startsWith(`${name} `));
    // The first function to start logs in for all.
    const actions = access[name].callsOpenStack ? ownTokenAccess['service-tokens'] : [];
    const ofToken = actions.map((action) => `${name} ${action} table/test-service-tokens`);
    return [...new Set([...needed, ...ofToken])];
  }

  it('allow all actions that a function uses, and no others', async () => {
    await runWorkload(world, asked.all);
    for (const name of names) {
      expect(granted(name).sort(), `infra/access.ts, ${name}`).toEqual(neededBy(name).sort());
    }
  });

  it('allow by a key of the data what AWS asks KMS for those actions, and no more', () => {
    const key = 'arn:aws:kms:us-east-1:000000000000:key/5c1a1c1e-7a3b-4000-8000-000000000001';
    const withKey = synthesize({ dataKeyArn: key });
    for (const name of names) {
      const variables = Object.keys(withKey.functionNamed(name).properties.Environment.Variables);
      const sends =
        neededBy(name).some((request) => request.includes(' SendMessage ')) ||
        variables.some((each) => /DEAD|STAGING_BUCKET/.test(each));
      const actions = withKey
        .allowedTo(name)
        .filter(({ resources }) => resources.includes(key))
        .flatMap((statement) => statement.actions);
      const expected = sends ? ['kms:Decrypt', 'kms:GenerateDataKey'] : ['kms:Decrypt'];
      expect(actions, name).toEqual(sends || neededBy(name).length > 0 ? expected : []);
    }
  });
});
