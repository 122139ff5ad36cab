// Exceptions from AWS's rules of good practice, which app.ts checks at every synth. They are
// acknowledged beside the construct, with a reason; test/infra/nag.test.ts finds unneeded ones.

import { Stack, Validations } from 'aws-cdk-lib';
import type { IConstruct } from 'constructs';

/** @param rule without the name of its pack, e.g. `SQS3` */
export function acknowledge(construct: IConstruct, rule: string, reason: string): void {
  Validations.of(construct).acknowledge({ id: `AwsSolutions-${rule}`, reason });
}

/** Allows a role one wildcard pattern and no other. */
export function acknowledgeWildcard(role: IConstruct, resource: string, reason: string): void {
  const named = asFindingsName(Stack.of(role).resolve(resource));
  acknowledge(role, `IAM5[Resource::${named}]`, reason);
}

/** References as findings spell them: `<LogicalId.Arn>/images/*`. */
function asFindingsName(value: unknown): string {
  if (typeof value === 'string') return value;
  const {
    Ref: ref,
    'Fn::GetAtt': attribute,
    'Fn::Join': join,
  } = value as {
    readonly Ref?: string;
    readonly 'Fn::GetAtt'?: readonly string[];
    readonly 'Fn::Join'?: readonly [delimiter: string, parts: readonly unknown[]];
  };
  if (ref !== undefined) return `<${ref}>`;
  if (attribute !== undefined) return `<${attribute.join('.')}>`;
  if (join !== undefined) return join[1].map(asFindingsName).join(join[0]);
  throw new TypeError(`Not a reference: ${JSON.stringify(value)}`);
}
