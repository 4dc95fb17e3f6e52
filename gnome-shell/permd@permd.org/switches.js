export class Switches { constructor() {} destroy() {} }
