// The named blocks of the guides: those that tests run, and those that none can run here.

interface GuideBlocks {
  readonly page: string;
  readonly test: string;
  /** Blocks that the test runs. */
  readonly run: readonly string[];
  /** Blocks for AWS and for hosts, each with the reason why the test does not run it. */
  readonly notRun: Readonly<Record<string, string>>;
}

const fakeAws = 'AWS; test/operate/another-region-guide.test.ts has a fake of its command line';

export const guides: readonly GuideBlocks[] = [
  {
    page: 'deploy.md',
    test: 'test/operate/deploy-guide.test.ts',
    run: ['settings', 'synth', 'register', 'bundle', 'enrol', 'forget', 'doctor', 'remove-hosts'],
    notRun: {
      'aws:secret': 'Secrets Manager: only CloudFormation reads it',
      'aws:preflight': 'STS and others; test/infra/preflight.test.ts plays them',
      'aws:deploy': 'CloudFormation; its line is synthesised below',
      'aws:retry': 'CloudFormation; its lines are those of aws:remove and aws:deploy',
      'aws:take-back': 'CloudFormation; test/deploy plays it in an emulator',
      'aws:rotate': 'Secrets Manager; test/integration/password-rotation.test.ts rotates',
      'aws:environment': 'Lambda; the same settings are written by the test',
      'aws:upgrade': 'git and CloudFormation; its lines are those of aws:deploy',
      'aws:rollback': 'git and CloudFormation; its lines are those of aws:deploy',
      'aws:remove': 'CloudFormation and tables; the local system goes with its directory',
      'aws:provisioned':
        'Application Auto Scaling; test/infra/concurrency.test.ts reads the template',
      'aws:refused': 'CloudWatch; test/deploy refuses a release in an emulator',
      'host:install': 'ssh; the test starts the agent from the folder',
      'host:upgrade': 'ssh; the test starts the agent from the bundle',
      'host:stop': 'ssh; the test stops the agent itself',
    },
  },
  {
    page: 'another-region.md',
    test: 'test/local/another-region.test.ts',
    run: ['settings', 'restore', 'register', 'enrol', 'look', 'end', 'repair', 'without-copy'],
    notRun: {
      'aws:copy': fakeAws,
      'aws:replicate': fakeAws,
      'aws:fence': fakeAws,
      'aws:deploy': fakeAws,
      'aws:stop': fakeAws,
      'aws:moments': fakeAws,
      'aws:import': fakeAws,
      'aws:start': fakeAws,
      'aws:forget': fakeAws,
      'host:install': 'ssh; the test starts the agents itself',
    },
  },
];
