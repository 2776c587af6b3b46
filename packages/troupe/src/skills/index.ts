export { SkillSet, type AddSkillOptions, type Skill, type SkillSetOptions } from './skill-set.ts';
