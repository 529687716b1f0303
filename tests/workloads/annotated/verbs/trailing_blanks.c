void h(int n, double *x) {  
  int i ;  	
/*@   begin   PerfTuning   (   
  def   build{arg build_command="gcc -O2" ;}  
  def performance_params  {  param  UF [ ]  =  range( 1 , 4 )  ;  } ;  
  def input_params { param N [] = [ 64 ] ; param K = 3 ; } 
  def input_vars { decl  static  double  x [ N ]  =  random  ; }  
  def performance_counter { arg repetitions = 2 ; } # done  
)   @*/  
  int n = N ;
/*@   begin   Loop   (  transform   Unroll  (  ufactor  =  UF  )  
  for ( i = 0 ; i <= n - 1 ; i ++ ) { x [ i ] = x [ i ] * 2.0 ; } ;  
 )  @*/ 
  for ( i = 0 ; i <= n - 1 ; i ++ ) { x [ i ] = x [ i ] * 2.0 ; } ;
/*@   end   @*/  
/*@   end  @*/  
}
