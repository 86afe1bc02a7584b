import { ATTACKS } from './scenarios.ts';
import { testShortForms } from './short-form.ts';

testShortForms(ATTACKS);
