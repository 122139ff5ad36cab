import { describe, expect, it } from 'vitest';
import { resourceFor } from '#functions/gateway.ts';
import { type RouteRow, routes } from '#functions/routes.ts';
import { stage, synthesize } from '#infra/privileges/synthesized.ts';

const stack = synthesize();
const deployed = stack.ofType('AWS::ApiGatewayV2::Route').map(({ properties }) => ({
  key: String(properties.RouteKey),
  functionName: functionBehind(String(properties.Target)),
}));

/** Name of the function, without the stage, that a route's target invokes. */
function functionBehind(target: string): string {
  const integration = stack
    .ofType('AWS::ApiGatewayV2::Integration')
    .find(({ id }) => target === `integrations/${id}`);
  expect(integration?.properties).toMatchObject({
    IntegrationType: 'AWS_PROXY',
    PayloadFormatVersion: '2.0',
  });
  return (
    String(integration?.properties.IntegrationUri).split(`:function:${stage}-`)[1]?.split(':')[0] ??
    ''
  );
}

/**
 * Which route API Gateway chooses: the exact one, then the greedy one, then the default. A path
 * that ends with a slash meets the greedy route.
 */
function reached(path: string): string | undefined {
  const exact = deployed.find(({ key }) => key === `ANY ${path}`);
  const greedy = deployed.find(
    ({ key }) => key.endsWith('/{proxy+}') && `ANY ${path}`.startsWith(key.slice(0, -8)),
  );
  return (exact ?? greedy ?? deployed.find(({ key }) => key === '$default'))?.functionName;
}

type Asked = Pick<RouteRow, 'path' | 'resource'>;
const requests = routes.flatMap(({ path, resource }): Asked[] => {
  // A page has one address.
  if (resource === 'console') return [{ path: path.replace('{id}', 'main-1.js'), resource }];
  const asked = path.replace('{id}', '5c1a1c1e-7a3b-4b0c-8f1e-0d7d6a1f2b3c');
  return ['', '/accelerator'].flatMap((mount) =>
    ['', '/', '.json'].map((end) => ({ path: `${mount}${asked}${end}`, resource })),
  );
});

describe('the API', () => {
  it('has addresses of IPv4 and IPv6', () => {
    const [only] = stack.ofType('AWS::ApiGatewayV2::Api');
    expect(only?.properties.IpAddressType).toBe('dualstack');
  });

  it('sends every row of the route table to the function of its resource', () => {
    for (const { path, resource } of requests) expect(reached(path), path).toBe(resource);
  });

  it('routes like one machine', () => {
    const strange = [
      '/',
      '/v2',
      '/v3/devices',
      '/v2/devicesx',
      '/v2/devices/a/b/c',
      '/favicon.ico',
      '/console/',
      '/console/a/b',
      '/console.json',
      '/accelerator/console',
    ];
    for (const path of [...requests.map((each) => each.path), ...strange]) {
      expect(reached(path), path).toBe(resourceFor(path));
    }
  });

  it('has no route that API Gateway refuses', () => {
    for (const { key } of deployed)
      expect(key).toMatch(/^(\$default|(ANY|GET|POST|PATCH|DELETE) \/.*[^/])$/);
    expect(new Set(deployed.map(({ key }) => key)).size).toBe(deployed.length);
  });

  it('may call each function behind it', () => {
    const permitted = new Map(
      stack
        .ofType('AWS::Lambda::Permission')
        .map(({ properties }) => [
          properties.FunctionName.split(`:${stage}-`)[1].split(':')[0],
          properties,
        ]),
    );
    for (const { key, functionName } of deployed) {
      const { Principal: principal, SourceArn: source } = permitted.get(functionName) ?? {};
      expect(principal, key).toBe('apigateway.amazonaws.com');
      // The source that API Gateway names: a default route has one segment less than any other.
      const caller = key === '$default' ? '/$default/$default' : `/$default/ANY${key.slice(4)}`;
      const pattern = source.replace(/^[^/]*/, '').replaceAll('*', '.*');
      expect(caller).toMatch(new RegExp(`^${pattern}$`));
    }
  });

  it('answers before API Gateway gives up', () => {
    for (const { functionName } of deployed) {
      expect(stack.functionNamed(functionName).properties.Timeout).toBeLessThan(30);
    }
  });

  it('deploys each change at once, and logs failures of the integrations', () => {
    const [only] = stack.ofType('AWS::ApiGatewayV2::Stage');
    expect(only?.properties).toMatchObject({ StageName: '$default', AutoDeploy: true });
    expect(JSON.parse(only?.properties.AccessLogSettings.Format)).toMatchObject({
      error: '$context.integrationErrorMessage',
    });
  });
});

describe('the console', () => {
  /** Alarms link to the web page of AWS. */
  const isOfConsole = (resource: unknown) =>
    JSON.stringify(resource)
      .toLowerCase()
      .replaceAll('console.aws.amazon.com', '')
      .includes('console');

  it('has its files beside its code, and nothing else in AWS', () => {
    const own = stack.resources.filter(isOfConsole).map(({ type }) => type);
    expect([...new Set(own)].sort()).toEqual([
      'AWS::ApiGatewayV2::Integration',
      'AWS::ApiGatewayV2::Route',
      'AWS::ApiGatewayV2::Stage',
      'AWS::CloudWatch::Dashboard',
      'AWS::IAM::Policy',
      'AWS::IAM::Role',
      'AWS::Lambda::Function',
      'AWS::Lambda::Permission',
      'AWS::Logs::LogGroup',
      // The protection of the tables, which waits for every function.
      'Custom::AWS',
    ]);
  });

  it('has no right but to write its log, and no password', () => {
    const actions = stack.allowedTo('console').flatMap((statement) => statement.actions);
    expect(actions.sort()).toEqual(['logs:CreateLogStream', 'logs:PutLogEvents']);
    const { Variables: variables } = stack.functionNamed('console').properties.Environment;
    expect(variables.CYBORG_OS_PASSWORD).toBe('');
  });

  it('is left out with all of its parts', () => {
    const without = synthesize({ console: 'false' });
    expect(without.resources.filter(isOfConsole).map(({ id }) => id)).toEqual([]);
    expect(without.outputs).not.toHaveProperty('Console');
    expect(stack.outputs.Console).toMatch(/\/console$/);
    const [served] = without.ofType('AWS::ApiGatewayV2::Stage');
    expect(Object.keys(served?.properties.RouteSettings)).toContain('GET /v2/device_profiles');
  });
});
