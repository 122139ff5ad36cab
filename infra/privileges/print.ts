// `npm run -s iam`: the permissions of each role per resource, from the template.

import { takeNoArguments } from '#core/command-line/arguments.ts';
import { type Resource, stage, synthesize } from './synthesized.ts';

takeNoArguments('npm run -s iam    what each role of the stack may do');

const stack = synthesize();
const roles = stack.ofType('AWS::IAM::Role').map((role) => ({
  owner: ownerOf(role),
  lines: stack.statementsOf(role.id).flatMap(({ actions, resources }) =>
    resources.map((resource) => ({
      resource: short(resource),
      actions: actions.map((action) => action.replace(/^[a-z0-9]+:/, '')).join(', '),
    })),
  ),
}));
const width = Math.max(...roles.flatMap(({ lines }) => lines.map((line) => line.resource.length)));
for (const { owner, lines } of roles) {
  console.log(`\n${owner}`);
  for (const line of lines) console.log(`  ${line.resource.padEnd(width)}  ${line.actions}`);
}

/** The function with the role, or the purpose of the role. */
function ownerOf({ id }: Resource): string {
  const owner = stack
    .ofType('AWS::Lambda::Function')
    .find(({ properties }) => properties.Role.endsWith(id));
  return owner
    ? `function ${owner.properties.FunctionName.slice(`${stage}-`.length)}`
    : `role ${id.replace(/[0-9A-F]{8}$/, '')}`;
}

/** `dynamodb table/test-arqs` for its ARN. */
function short(arn: string): string {
  const bucket = /:StagingBucket[0-9A-F]{8}(.*)$/.exec(arn);
  if (bucket) return `s3 staging bucket${bucket[1]}`;
  const [, , service, , , ...name] = arn.split(':');
  return service === undefined ? arn : `${service} ${name.join(':')}`;
}
