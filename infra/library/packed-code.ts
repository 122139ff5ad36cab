// In place of function-code.ts in the package of the stack: the bundles are in the package, beside
// its module, so that nothing is compiled where it is installed.

import { fileURLToPath } from 'node:url';
import { Code } from 'aws-cdk-lib/aws-lambda';
import type { CodeOf } from '#infra/bundle/function-code.ts';

export const codeOf: CodeOf = (_scope, name) => ({
  code: Code.fromAsset(fileURLToPath(new URL(`functions/${name}`, import.meta.url))),
  handler: 'index.handler',
});
