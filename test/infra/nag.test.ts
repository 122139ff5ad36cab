import { App, Validations } from 'aws-cdk-lib';
import { Queue } from 'aws-cdk-lib/aws-sqs';
import { AwsSolutionsChecks } from 'cdk-nag';
import { describe, expect, it } from 'vitest';
import { contextOfProject } from '#infra/privileges/synthesized.ts';
import { readSettings } from '#infra/settings/settings.ts';
import { CyborgStack } from '#infra/stack/cyborg-stack.ts';

function stackOf(context: Readonly<Record<string, unknown>> = {}) {
  const app = new App({
    context: { ...contextOfProject(), 'aws:cdk:bundling-stacks': [], ...context },
  });
  return new CyborgStack(app, 'cyborg', { settings: readSettings(app.node) });
}

/** `path rule` of each finding, with or without regard to acknowledgements. */
function findings(stack: CyborgStack, { all }: { all: boolean }): string[] {
  const checks = new AwsSolutionsChecks(stack);
  if (all) Object.defineProperty(checks, 'isAcknowledged', { value: () => false });
  return checks
    .validateScope(stack)
    .violations.flatMap(({ ruleName, violatingResources }) =>
      violatingResources.map(({ constructPath }) => `${constructPath} ${ruleName}`),
    );
}

interface Acknowledgement {
  readonly path: string;
  readonly rule: string;
  readonly reason: string;
}

function acknowledgements(stack: CyborgStack): Acknowledgement[] {
  return stack.node.findAll().flatMap(({ node }) =>
    node.metadata
      .filter(({ type }) => type === Validations.ACKNOWLEDGED_RULES_METADATA_KEY)
      .flatMap(({ data }) => Object.entries(data as Record<string, string>))
      .map(([id, reason]) => ({ path: node.path, rule: id.replace(/^Annotation::/, ''), reason })),
  );
}

const deployments = {
  'as shipped': {},
  'in subnets': { subnetIds: 'subnet-0123456789abcdef0', securityGroupIds: 'sg-0123456789abcdef0' },
  'with a domain': {
    domainName: 'accelerator.cloud.test',
    certificateArn: 'arn:aws:acm:us-east-1:000000000000:certificate/5c1a1c1e-7a3b',
  },
  'with mutual TLS and reservations': {
    domainName: 'accelerator.cloud.test',
    certificateArn: 'arn:aws:acm:us-east-1:000000000000:certificate/5c1a1c1e-7a3b',
    truststoreUri: 's3://authorities/all.pem',
    reservedConcurrency: { 'accelerator-requests': 400, changes: 40 },
  },
  'on trial': { keepData: 'false' },
  'traced, under keys': {
    tracing: 'true',
    dataKeyArn: 'arn:aws:kms:us-east-1:000000000000:key/5c1a1c1e-7a3b-4000-8000-000000000002',
    passwordKeyArn: 'arn:aws:kms:us-east-1:000000000000:key/5c1a1c1e-7a3b-4000-8000-000000000001',
  },
};

describe.each(Object.entries(deployments))('the rules of AWS, %s', (_name, context) => {
  const stack = stackOf(context);

  it('are kept, or the exception is acknowledged', () => {
    expect(findings(stack, { all: false })).toEqual([]);
  });

  it('are acknowledged only where they are broken, each with a reason', () => {
    const broken = findings(stack, { all: true });
    const acknowledged = acknowledgements(stack);
    expect(acknowledged).not.toEqual([]);
    for (const { path, rule, reason } of acknowledged) {
      const isNeeded = broken.some(
        (each) => each.startsWith(`${path}/`) && each.endsWith(` ${rule}`),
      );
      expect(isNeeded, `${path} ${rule}`).toBe(true);
      expect(reason.split(' ').length, rule).toBeGreaterThan(5);
    }
  });
});

it('an unacknowledged exception is found', () => {
  const stack = stackOf();
  new Queue(stack, 'Unguarded');
  expect(findings(stack, { all: false })).toContain('cyborg/Unguarded/Resource AwsSolutions-SQS3');
});
