// The stack in an account that has other stacks.

import { describe, expect, it } from 'vitest';
import { stage, synthesize } from '#infra/privileges/synthesized.ts';

const stack = synthesize();

describe('in an account with other stacks', () => {
  it("every resource is found by the stack's tags, and the stack by its description", () => {
    expect(stack.tags).toEqual({ application: 'cyborg-serverless', stage });
    expect(stack.description).toContain(stage);
  });

  it('every log group has the retention of the deployment, and is deleted with the stack', () => {
    const logs = synthesize({ logRetentionDays: 30 }).ofType('AWS::Logs::LogGroup');
    for (const { properties, deletionPolicy, id } of logs) {
      expect([id, properties.RetentionInDays, deletionPolicy]).toEqual([id, 30, 'Delete']);
    }
  });

  it('no function writes to a log group that Lambda would create and keep for ever', () => {
    const logs = stack.ofType('AWS::Logs::LogGroup').map(({ properties }) => properties);
    for (const { properties, id } of stack.ofType('AWS::Lambda::Function')) {
      const { LogGroup } = properties.LoggingConfig;
      expect(
        logs.map(({ LogGroupName }) => LogGroupName),
        id,
      ).toContain(LogGroup);
    }
  });

  it('only data survives the stack', () => {
    const kept = stack.resources.filter(({ deletionPolicy }) =>
      deletionPolicy?.startsWith('Retain'),
    );
    // A version goes with its function.
    const types = kept.map(({ type }) => type).filter((type) => type !== 'AWS::Lambda::Version');
    expect([...new Set(types)].sort()).toEqual(['AWS::DynamoDB::GlobalTable', 'AWS::S3::Bucket']);
  });

  it('an account-wide setting is switched on by the stack, and never off', () => {
    const [request] = stack.ofType('Custom::AWS');
    expect(Object.keys(request?.properties ?? {}).filter((key) => /elete/.test(key))).toEqual([]);
    const settings = stack.resources.filter(({ type }) =>
      /^AWS::(ApiGateway::Account|IoT::(Logging|AccountAuditConfiguration)|Logs::ResourcePolicy)$/.test(
        type,
      ),
    );
    expect(settings).toEqual([]);
  });

  it('each output has a description', () => {
    for (const description of Object.values(stack.outputDescriptions)) {
      expect(description.split(' ').length).toBeGreaterThan(4);
    }
  });
});
