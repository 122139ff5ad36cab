// `npm run test:contract -- --url … --token …`: the contract suite against any server of the API.
// It makes profiles, requests and attributes with names of its own, and deletes them again; it
// binds to a device of the fake driver, and puts one device into maintenance for a moment.

import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { GabbiRun, readTests, Unexpected, VariableMissing } from './gabbi.ts';
import { OpenApiCheck } from './openapi-check.ts';
import { findVariables } from './variables.ts';

const usage = `npm run test:contract -- --url URL --token TOKEN [options]

  --url URL             http://host:port/accelerator
  --token T             an admin's
  --member-token T      a member's
  --other-token T       a member's of another project
  --service-token T     Nova's
  --image UUID          an active image in Glance, to have regions programmed with
  --openapi             hold the answers against the server's own /openapi.json, too

Tests of personas that have no token, and of devices that are not there, are skipped and named.`;

const directory = join(import.meta.dirname, '../api');
const files = readdirSync(directory).filter((file) => file.endsWith('.yaml'));
const counts = { passed: 0, failed: 0, skipped: 0 };

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      url: { type: 'string' },
      token: { type: 'string' },
      'member-token': { type: 'string' },
      'other-token': { type: 'string' },
      'service-token': { type: 'string' },
      image: { type: 'string' },
      openapi: { type: 'boolean', default: false },
    },
  });
  if (!values.url || !values.token) throw new Error(usage);
  const base = values.url.replace(/\/(v2\/?)?$/, '');
  const variables = await findVariables(base, {
    ADMIN_TOKEN: values.token,
    ...(values['member-token'] && { MEMBER_TOKEN: values['member-token'] }),
    ...(values['other-token'] && { OTHER_TOKEN: values['other-token'] }),
    ...(values['service-token'] && { SERVICE_TOKEN: values['service-token'] }),
    ...(values.image && { IMAGE: values.image }),
  });
  const check = values.openapi
    ? new OpenApiCheck((await (await fetch(`${base}/openapi.json`)).json()) as never)
    : undefined;
  for (const file of files) await runFile(file, new GabbiRun(base, variables), base, check);
  console.log(`${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`);
  process.exitCode = counts.failed === 0 && counts.passed > 0 ? 0 : 1;
}

async function runFile(
  file: string,
  run: GabbiRun,
  base: string,
  check: OpenApiCheck | undefined,
): Promise<void> {
  console.log(file);
  for (const test of readTests(join(directory, file))) {
    try {
      const exchanged = await run.run(test);
      check?.check({ ...exchanged, url: exchanged.url.replace(base, '') });
      counts.passed += 1;
      console.log(`  ok      ${test.name}`);
    } catch (error) {
      if (error instanceof VariableMissing) {
        counts.skipped += 1;
        console.log(`  skipped ${test.name}: there is no ${error.message}`);
        continue;
      }
      if (!(error instanceof Unexpected)) throw error;
      counts.failed += 1;
      console.log(`  FAILED  ${test.name}: ${error.message}`);
    }
  }
}

main().catch((error: Error) => {
  console.error(error.message);
  process.exitCode = 1;
});
