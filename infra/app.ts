import { App, Validations } from 'aws-cdk-lib';
import { AwsSolutionsChecks } from 'cdk-nag';
import { CyborgStack } from './cyborg-stack.ts';
import { DeploymentInvalid, type DeploymentSettings, readSettings } from './settings.ts';

const app = new App();
// A finding that is not acknowledged fails the synth.
Validations.of(app).addPlugins(new AwsSolutionsChecks(app));
const settings = settingsOrEnd();
new CyborgStack(app, `cyborg-${settings.stage}`, { settings });

/** Prints invalid settings as a sentence, without a stack trace. */
function settingsOrEnd(): DeploymentSettings {
  try {
    return readSettings(app.node);
  } catch (error) {
    if (!(error instanceof DeploymentInvalid)) throw error;
    console.error(error.message);
    process.exit(1);
  }
}
