import { describe, expect, it } from 'vitest';
import { tableName, tables } from '#core/store/table/tables.ts';
import { access, type FunctionName, ownTokenAccess, traced } from '#infra/access.ts';
import { type Statement, stage, statementOf, synthesize } from '#infra/privileges/synthesized.ts';

const stack = synthesize();
const names = Object.keys(access) as FunctionName[];

/** All statements of all roles. */
const granted: Statement[] = [
  ...stack.ofType('AWS::IAM::Policy').map(({ properties }) => properties.PolicyDocument),
  ...stack
    .ofType('AWS::IAM::Role')
    .flatMap(({ properties }) => properties.Policies ?? [])
    .map((policy) => policy.PolicyDocument),
].flatMap(({ Statement: statements }) => statements.map(statementOf));

/** Wildcards that are intended. */
const exceptions: readonly { readonly resource: RegExp; readonly because: string }[] = [
  {
    resource: /^\*$/,
    because: 'a setting of the account, and a certificate that does not exist yet',
  },
  { resource: /:job\/test-\*$/, because: 'jobs are made as hosts need them, named by the stage' },
  {
    resource: /:thing\/test:\*$/,
    because: 'jobs and certificates are of any host of the stage, and hosts come and go',
  },
  { resource: /:cert\/\*$/, because: 'AWS names certificates of hosts by their hashes' },
  {
    resource: /:topic\/test\/hosts\/\*\/(work|certificate)$/,
    because: 'messages go to any host of the stage, and hosts come and go',
  },
  {
    resource: /:secret:[\w/]+-[\w-]+-\?{6}$/,
    because: 'Secrets Manager adds six characters to the name of a secret',
  },
  {
    resource: /:function:test-(accelerator-requests|device-profiles|changes|announcements):\*$/,
    because: 'each release has a version of its own',
  },
  { resource: /\/images\/\*$/, because: 'images come as hosts need them, named by their ids' },
];

describe('privileges', () => {
  it('name every action', () => {
    for (const { actions } of granted) {
      for (const action of actions) expect(action).toMatch(/^[a-z][a-z0-9]+:[A-Za-z]+$/);
    }
  });

  it('name every resource, with a few justified exceptions', () => {
    const wild = granted.flatMap(({ resources }) => resources).filter((name) => /[*?]/.test(name));
    for (const resource of wild) {
      expect(
        exceptions.some((exception) => exception.resource.test(resource)),
        resource,
      ).toBe(true);
    }
    for (const { resource, because } of exceptions) {
      expect(
        wild.some((name) => resource.test(name)),
        because,
      ).toBe(true);
    }
  });

  it('on all resources are for what has no ARN', () => {
    const onEverything = granted.filter(({ resources }) => resources.includes('*'));
    expect([...new Set(onEverything.flatMap(({ actions }) => actions))].sort()).toEqual([
      'iot:CreateCertificateFromCsr',
      'iot:UpdateEventConfigurations',
    ]);
  });

  it('on certificates are those of one function, which attaches them to hosts of its stage', () => {
    const certifying = names.filter((name) =>
      stack
        .allowedTo(name)
        .some(({ resources }) => resources.some((arn) => arn.includes(':cert/'))),
    );
    expect(certifying).toEqual(['host-presence']);
    const things = stack
      .allowedTo('host-presence')
      .flatMap(({ resources }) => resources.filter((arn) => arn.includes(':thing/')));
    expect([...new Set(things)]).toEqual([`arn:aws:iot:us-east-1:000000000000:thing/${stage}:*`]);
  });

  it('to trace belong to the traced functions', () => {
    const withTraces = synthesize({ tracing: 'true' });
    const tracing = names.filter((name) =>
      withTraces.allowedTo(name).some(({ actions }) => actions.includes('xray:PutTraceSegments')),
    );
    expect(tracing.sort()).toEqual([...traced].sort());
    for (const name of names) {
      const { TracingConfig } = withTraces.functionNamed(name).properties;
      expect(TracingConfig?.Mode).toBe(traced.includes(name) ? 'Active' : undefined);
    }
  });

  it('to trace do not exist without tracing, which is the default', () => {
    for (const name of names) {
      expect(stack.functionNamed(name).properties.TracingConfig).toBeUndefined();
      const actions = stack.allowedTo(name).flatMap((statement) => statement.actions);
      expect(actions.filter((action) => action.startsWith('xray:'))).toEqual([]);
    }
  });

  it('come from this stack alone, not from managed policies of AWS', () => {
    for (const { properties } of stack.ofType('AWS::IAM::Role')) {
      expect(properties.ManagedPolicyArns).toBeUndefined();
    }
    expect(stack.ofType('AWS::IAM::ManagedPolicy')).toEqual([]);
  });

  it('are in one role for each function', () => {
    const roles = names.map((name) => stack.functionNamed(name).properties.Role);
    expect(new Set(roles).size).toBe(names.length);
  });

  it.each(names)('let %s touch no table that it does not need', (name) => {
    const { tables: own, indexes, callsOpenStack } = access[name];
    const needed = Object.keys({ ...own, ...indexes, ...(callsOpenStack && ownTokenAccess) });
    const touched = stack
      .allowedTo(name)
      .filter(({ actions }) => actions.some((action) => action.startsWith('dynamodb:')))
      .flatMap(({ resources }) => resources);
    for (const { name: table } of tables) {
      const path = `:table/${tableName(stage, table)}`;
      const isTouched = touched.some((arn) => arn.endsWith(path) || arn.includes(`${path}/`));
      expect(isTouched, table).toBe(needed.includes(table));
    }
  });

  it.each(names)('let %s write its log, and no other', (name) => {
    const logs = stack
      .allowedTo(name)
      .filter(({ actions }) => actions.some((action) => action.startsWith('logs:')));
    expect(logs.flatMap(({ resources }) => resources)).toEqual([
      `arn:aws:logs:us-east-1:000000000000:log-group:/aws/lambda/${stage}-${name}`,
    ]);
  });

  it('let those that call OpenStack read the password, which is in no environment', () => {
    for (const name of names) {
      const { Variables } = stack.functionNamed(name).properties.Environment;
      expect(Variables.CYBORG_OS_PASSWORD).toBe('');
      const isReader = access[name].callsOpenStack;
      expect(Variables.CYBORG_OS_PASSWORD_SECRET !== undefined).toBe(isReader);
      const reads = stack
        .allowedTo(name)
        .filter(({ actions }) => actions.includes('secretsmanager:GetSecretValue'));
      expect(reads).toHaveLength(isReader ? 1 : 0);
      if (isReader) expect(reads[0]?.resources.join()).toMatch(/:secret:cyborg\/\S+-\?{6}$/);
    }
    expect(JSON.stringify(stack.resources)).not.toContain('{{resolve:secretsmanager');
  });

  it('let the versions function, which answers unknown paths, read no password', () => {
    expect(access.versions.callsOpenStack).toBe(false);
  });

  it("let the functions between the answer and Nova's event read no index", () => {
    expect(access['nova-events'].indexes).toBeUndefined();
    expect(access.changes.tables).toBeUndefined();
  });

  describe('of a key for the secret', () => {
    const passwordKeyArn =
      'arn:aws:kms:us-east-1:000000000000:key/5c1a1c1e-7a3b-4000-8000-000000000001';
    const withKey = synthesize({ passwordKeyArn });
    const decrypting = (name: FunctionName) =>
      withKey.allowedTo(name).filter(({ actions }) => actions.includes('kms:Decrypt'));

    it('to decrypt by that key alone belong to the functions that read the password', () => {
      for (const name of names) {
        const isHolder = access[name].callsOpenStack;
        expect(decrypting(name)).toEqual(
          isHolder ? [{ actions: ['kms:Decrypt'], resources: [passwordKeyArn] }] : [],
        );
      }
    });

    it('to decrypt do not exist without a key', () => {
      expect(granted.flatMap(({ actions }) => actions)).not.toContain('kms:Decrypt');
    });
  });
});
