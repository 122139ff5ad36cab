// Forms of settings that several of them have.

import { Token } from 'aws-cdk-lib';
import * as z from 'zod';

/** An app may give a reference to another stack, whose value only CloudFormation knows. */
export const matching = (pattern: RegExp, fault: string, missing?: string) =>
  z.string(missing).refine((text) => Token.isUnresolved(text) || pattern.test(text), fault);

export const keyArn = matching(
  /^arn:aws[a-z-]*:kms:[a-z0-9-]+:\d{12}:key\/[\w-]+$/,
  'not the ARN of a key in KMS',
).optional();

export const idList = (pattern: RegExp, kind: string) =>
  z
    .string()
    .transform((text) => text.split(','))
    .pipe(
      z
        .array(matching(pattern, `not the id of a ${kind}`))
        .min(1)
        .max(16),
    )
    .optional();

export const perSecond = z.coerce.number('not a number').int().min(1).max(100_000);
