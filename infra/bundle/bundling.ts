// How a function's bundle is made.

import { fileURLToPath } from 'node:url';
import { type BundlingOptions, LogLevel, OutputFormat } from 'aws-cdk-lib/aws-lambda-nodejs';
import { access, type FunctionName } from '#infra/access.ts';

const credentials = fileURLToPath(new URL('lambda-credentials.ts', import.meta.url));
const discovery = fileURLToPath(new URL('no-endpoint-discovery.ts', import.meta.url));
const unneeded = fileURLToPath(new URL('unneeded-clients.ts', import.meta.url));

// The SDK is bundled: that loads faster than the runtime's copy, and pins the version. ES modules
// are preferred, because only they allow tree shaking.
export const bundling = {
  format: OutputFormat.ESM,
  minify: true,
  mainFields: ['module', 'main'],
  bundleAwsSDK: true,
  logLevel: LogLevel.WARNING,
  // Packages that are still CommonJS require Node's own modules.
  banner: "import{createRequire}from'node:module';const require=createRequire(import.meta.url);",
} satisfies BundlingOptions;

const staging = ['@aws-sdk/client-s3', '@aws-sdk/client-sts', '@aws-sdk/s3-request-presigner'];

/** Replaces clients of services that the function may not use, to reduce its bundle. */
export function aliasesOf(name: FunctionName): Record<string, string> {
  const { jobs, messagesHosts, certifiesHosts, stagesImages } = access[name];
  const left = [
    ...(jobs || certifiesHosts ? [] : ['@aws-sdk/client-iot']),
    ...(messagesHosts || certifiesHosts ? [] : ['@aws-sdk/client-iot-data-plane']),
    // Only clients of S3 read streams of events.
    ...(stagesImages ? [] : [...staging, '@smithy/core/event-streams']),
  ];
  return {
    '@aws-sdk/credential-provider-node': credentials,
    '@aws-sdk/middleware-endpoint-discovery': discovery,
    ...Object.fromEntries(left.map((client) => [client, unneeded])),
  };
}

export function aliasArguments(name: FunctionName): Record<string, string> {
  const aliases = Object.entries(aliasesOf(name));
  return Object.fromEntries(aliases.map(([client, file]) => [`--alias:${client}`, file]));
}
